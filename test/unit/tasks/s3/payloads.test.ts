import { S3Client } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import { createS3Payloads } from '../../../../shared/tasks/s3/payloads.ts';
import { DoNotRetry } from '../../../../shared/tasks/task/control.ts';
import type { PayloadStore } from '../../../../shared/tasks/task/payload.ts';
import { checkedIn } from '../../../../shared/tasks/task/payload.ts';
import type { ObjectServer } from '../../../support/object-store.ts';
import { openObjectServer } from '../../../support/object-store.ts';

let server: ObjectServer;
let client: S3Client;
let payloads: PayloadStore;

beforeEach(async () => {
  server = await openObjectServer();
  client = new S3Client({
    endpoint: server.endpoint,
    forcePathStyle: true,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  payloads = createS3Payloads({ bucket: 'my-inputs', client });
});

afterEach(async () => {
  vi.unstubAllEnvs();
  client.destroy();
  await server[Symbol.asyncDispose]();
});

test('returns a stored payload by its reference, until it is deleted', async () => {
  const text = JSON.stringify({ words: 'ä€𝄞'.repeat(1_000) });

  const reference = await payloads.put('default/task-1/nonce', text);

  expect(reference).toBe('s3://my-inputs/leasehold/default/task-1/nonce.json');
  expect([...server.objects]).toEqual([
    ['/my-inputs/leasehold/default/task-1/nonce.json', { body: text, type: 'application/json' }],
  ]);
  expect(await payloads.get(reference)).toBe(text);
  await payloads.delete(reference);
  expect(await payloads.get(reference)).toBeUndefined();
  await payloads.delete(reference);
});

test('reads and deletes nothing outside its prefix, for any reference', async () => {
  for (const reference of ['s3://other/leasehold/x.json', 's3://my-inputs/secrets/x.json', 'file:///etc/passwd']) {
    await expect(payloads.get(reference)).rejects.toThrow(ConfigurationError);
    await expect(payloads.delete(reference)).rejects.toThrow('pass the store');
  }
  expect(server.objects.size).toBe(0);
});

test("reads and deletes only payloads stored under the task's name", async () => {
  const text = '"theirs"';
  const put = async (queue: string, id: string) =>
    (
      await checkedIn(
        {
          queue,
          id,
          name: 'n',
          input: null,
          priority: 'normal',
          runAt: 0,
          payload: { text, bytes: 500_000, digest: '' },
        },
        { payloads, tasks: {} as never },
        'nonce',
      )
    ).payload?.reference ?? '';
  const theirs = await put('other', 'a/b+c');
  const refused = [
    { queue: 'mine', id: 'a/b+c' },
    { queue: 'other', id: 'a/b' },
    { queue: 'other', id: 'a/b+c+1' },
    { queue: 'other', id: 'a' },
  ];
  for (const task of refused) {
    await expect(payloads.get(theirs, { task })).rejects.toThrow(DoNotRetry);
    await expect(payloads.delete(theirs, { task })).rejects.toThrow('is not the input of');
  }
  expect(await payloads.get(theirs, { task: { queue: 'other', id: 'a/b+c' } })).toBe(text);
});

test('refuses an invalid bucket', () => {
  expect(() => createS3Payloads({ bucket: 'Not A Bucket', client })).toThrow(ConfigurationError);
});

test('removes with little patience by any client, because a task waits for it', async () => {
  const reference = await payloads.put('default/task-1/nonce', '1');
  const send = vi.spyOn(client, 'send');
  await payloads.delete(reference);
  await payloads.delete(reference, { signal: new AbortController().signal });

  expect(send.mock.calls.map(([, bounds]) => bounds)).toMatchObject([
    { requestTimeout: 2_000 },
    { requestTimeout: 2_000, abortSignal: expect.any(AbortSignal) as AbortSignal },
  ]);
});

test('does not wait for an unresponsive bucket, and aborts requests that nobody waits for', async () => {
  const variables = {
    AWS_ENDPOINT_URL_S3: server.endpoint,
    AWS_REGION: 'us-east-1',
    AWS_MAX_ATTEMPTS: '1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const ours = createS3Payloads({ bucket: 'my-inputs' });
  const reference = await ours.put('default/task-1/nonce', '1');
  server.fallSilent();

  await expect(ours.delete(reference)).rejects.toThrow(expect.objectContaining({ name: 'TimeoutError' }));
  const over = new AbortController();
  const deleting = ours.delete(reference, { signal: over.signal });
  over.abort();
  await expect(deleting).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
});
