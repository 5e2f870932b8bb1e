/** Live workers: the console and the command count the same sessions, with or without a permit. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { workerName } from '../../shared/tasks/dispatch/live-workers.ts';
import { workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import { runCommand } from '../../test/support/command.ts';
import type { CommandTable } from '../../test/support/command-table.ts';
import { announceNames, closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';
import { enter, firstNews, newsOf, openConsole } from './support/console.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('live workers', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  test('include workers with and without a permit, but not ended, expired or foreign ones', async () => {
    const session = (name: string) => table.leasehold.session({ name, ttl: '60s' });
    await using deployed = await session(workerName('media'));
    await deployed.permit(workersSemaphore('media'), { limit: 4 });
    await using byHand = await session(workerName('media'));
    await using alsoByHand = await session(workerName('media'));
    await using elsewhere = await session(workerName('media2'));
    await using similar = await session(`${workerName('media')}#x`);
    const ended = await session(workerName('media'));
    await ended.end();
    const destroyed = await session(workerName('media'));
    await destroyed.permit(workersSemaphore('media'), { limit: 4 });
    await table.leasehold.sessions.destroy(destroyed.id);
    const running = await openConsole(table, { queues: ['media'] });
    await using _console = { [Symbol.asyncDispose]: () => running.close() };

    const workers = { live: 3, permits: 1, limit: 4 };
    const { out } = await runCommand(table, 'queues', 'stats', 'media', '--json');
    expect(JSON.parse(out)).toMatchObject({ workers });
    const seen: unknown[] = [];
    for await (const { queues } of newsOf(await enter(running))) {
      seen.push(queues.find(({ queue }) => queue === 'media')?.workers);
      if (isDeepStrictEqual(seen.at(-1), workers)) break;
    }
    expect(seen.at(-1)).toEqual(workers);
    expect([byHand, alsoByHand, elsewhere, similar].every(({ signal }) => !signal.aborted)).toBe(true);
  });

  test('show the wanted number and the time that a task took', async () => {
    await announceNames(table, 'wanted', ['greet'], 2_000);
    await using deployed = await table.leasehold.session({ name: workerName('wanted'), ttl: '60s' });
    await deployed.permit(workersSemaphore('wanted'), { limit: 4 });
    for (let nth = 0; nth < 55; nth++) await table.leasehold.tasks.enqueue('greet', {}, { queue: 'wanted' });
    const running = await openConsole(table, { queues: ['wanted'] });
    await using _console = { [Symbol.asyncDispose]: () => running.close() };

    // A fifth of a slot for each task, and ten slots a worker.
    const figures = { workers: { live: 1, permits: 1, limit: 4 }, wanted: 2, tookMs: 2_000 };
    const { out } = await runCommand(table, 'queues', 'stats', 'wanted', '--json');
    expect(JSON.parse(out)).toMatchObject(figures);
    const { queues } = await firstNews(await enter(running));
    expect(queues.find(({ queue }) => queue === 'wanted')).toMatchObject(figures);
  });

  test('have their names offered in the form of a new task', async () => {
    await announceNames(table, 'announced', ['greet', 'resize']);
    const running = await openConsole(table);
    await using _console = { [Symbol.asyncDispose]: () => running.close() };
    const visitor = await enter(running);

    const response = await visitor.get('api/names?queue=announced');

    expect(await response.json()).toEqual([{ name: 'greet' }, { name: 'resize' }]);
  });
});
