/** The row of a queue, which others may have written: readers omit unreadable hints, and truncate large ones. */
import { expect, test } from 'vitest';
import { CorruptItemError } from '../../../../shared/core/errors.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { queueKey } from '../../../../shared/dynamo/engine/keys.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { createQueueStore } from '../../../../shared/tasks/rows/dynamo-queue-store.ts';
import { MAX_SHARDS } from '../../../../shared/tasks/task/task.ts';
import { memoryDynamo } from '../../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../../shared/testing/simulated-dynamo/driver.ts';
import { SCHEMA_VERSION } from '../../../../shared/dynamo/engine/schema.ts';

const TABLE = 'leasehold';
const HEARD = { at: 1, count: 2, ids: ['a'] };
const STARTS = { count: 1, token: 2, untilMs: 3, waitMs: 4, heard: [HEARD], nonce: 'n' };

async function read(changes: object): Promise<unknown> {
  const dynamo = memoryDynamo(TABLE, () => 1);
  const whole = { queue: 'q', paused: false, reason: 'r', updatedAt: 1, nonce: 'n' };
  dynamo.apply('put', { TableName: TABLE, Item: { ...queueKey('q'), v: SCHEMA_VERSION, ...whole, ...changes } });
  return createQueueStore(new Sender({ driver: simulatedDriver(dynamo), runtime: systemRuntime }), TABLE).get('q');
}

test.each<[what: string, changes: object, read: object]>([
  ['shards', { shards: 12 }, { shards: 12 }],
  ['too many shards', { shards: MAX_SHARDS + 1 }, { shards: MAX_SHARDS }],
  ['no shards', {}, { shards: undefined, lanes: undefined, starts: undefined, workerSettings: undefined }],
  ['a time', { took: 0 }, { tookMs: 0 }],
  ['a negative time', { took: -1 }, { tookMs: undefined }],
  ['a time in text', { took: '1' }, { tookMs: undefined }],
  ['names', { unknown: ['a', 1, 'b'], names: ['c', null] }, { unknownNames: ['a', 'b'], announcedNames: ['c'] }],
  ['names in text', { unknown: 'a' }, { unknownNames: undefined }],
  ['settings', { concurrency: 1, startWithin: 0 }, { workerSettings: { concurrency: 1, startWithinMs: 0 } }],
  ['settings without slots', { concurrency: 0, startWithin: 1 }, { workerSettings: undefined }],
  ['settings with a negative time', { concurrency: 1, startWithin: -1 }, { workerSettings: undefined }],
  ['half of the settings', { concurrency: 1 }, { workerSettings: undefined }],
  ['starts', { starts: STARTS }, { starts: STARTS }],
  ['starts that heard nothing', { starts: { ...STARTS, heard: [] } }, { starts: { ...STARTS, heard: [] } }],
  ['starts in text', { starts: 'x' }, { starts: undefined }],
  ...Object.keys(STARTS).map((name): [string, object, object] => [
    `starts with another ${name}`,
    { starts: { ...STARTS, [name]: true } },
    { starts: undefined },
  ]),
  ...[{ at: 'x' }, { count: 'x' }, { ids: [] }, { ids: [1] }, { ids: 'a' }].map((wrong): [string, object, object] => [
    `starts that heard ${JSON.stringify(wrong)}`,
    { starts: { ...STARTS, heard: [HEARD, { ...HEARD, ...wrong }] } },
    { starts: undefined },
  ]),
])('%s', async (_what, changes, found) => {
  expect(await read(changes)).toMatchObject(found);
});

test.each([{ shards: -1 }, { paused: 1 }, { reason: 1 }, { updatedAt: 'x' }, { nonce: undefined }, { lanes: 1 }])(
  'is damaged with %j',
  async (changes) => {
    await expect(read(changes)).rejects.toThrow(CorruptItemError);
  },
);
