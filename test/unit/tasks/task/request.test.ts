/** Requests that are refused before any write. */
import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import { checkLines } from '../../../../shared/tasks/queue/task-file.ts';
import type { EnqueueOptions } from '../../../../shared/tasks/task/task-request.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

const enqueue = (options: unknown): Promise<unknown> =>
  openMemoryQueue().client.enqueue('work', null, options as EnqueueOptions);

describe('an option that is null', () => {
  test.each(['id', 'queue', 'tenant', 'priority'])('is not left out: %s', async (name) => {
    await expect(enqueue({ [name]: null })).rejects.toThrow(/ (is null: must be a string|= null: must be one of .*)$/);
  });

  test('is a bad line', async () => {
    const { client } = openMemoryQueue();

    const { bad } = await checkLines(Buffer.from('{"name":"work","id":null}'), client, undefined);

    expect(bad).toEqual([{ line: 1, error: 'task id is null: must be a string' }]);
  });
});

test('a line says the options of its task, and the command says the queue', async () => {
  const { client } = openMemoryQueue();
  const text = '{"name":"work","key":"k","limit":2,"tenant":"t"}\n{"name":"work","queue":"other"}';

  const { lines, bad } = await checkLines(Buffer.from(text), client, undefined);

  expect(lines).toMatchObject([{ task: { tenant: 't', links: { concurrency: { key: 'k', limit: 2 } } } }]);
  expect(bad).toMatchObject([{ line: 2, error: expect.stringContaining('unknown field "queue"') as string }]);
});

describe('a time without a date that could say it', () => {
  test.each([
    [{ delay: '99999999d' }, 'delay = "99999999d" ends after the year 9999'],
    [{ delay: '1e300d' }, 'delay = "1e300d": must be a text with a unit'],
    [{ expires: '99999999d' }, 'expires = "99999999d" ends after the year 9999'],
    [{ id: 'a', window: '99999999d' }, 'window = "99999999d" ends after the year 9999'],
  ])('is refused: %o', async (options, message) => {
    await expect(enqueue(options)).rejects.toThrow(message);
    await expect(enqueue(options)).rejects.toBeInstanceOf(ConfigurationError);
  });
});
