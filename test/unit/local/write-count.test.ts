/** When the engine's front holds a read of the stream. */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WriteCount } from '../../../local/engine/write-count.ts';
import { WRITES_HEADER } from '../../../shared/dynamo/table-stream.ts';

const WRITE = { 'x-amz-target': 'DynamoDB_20120810.UpdateItem' };
const QUERY = { 'x-amz-target': 'DynamoDB_20120810.Query' };
const readAfter = (seen?: string) => ({
  'x-amz-target': 'DynamoDBStreams_20120810.GetRecords',
  ...(seen === undefined ? {} : { [WRITES_HEADER]: seen }),
});
const openResponse = () => new EventEmitter() as ServerResponse;

/** Whether it is still held after everything that is ready has run. */
async function isHeld(holding: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  void holding.then(() => (isOver = true));
  await nextTurn();
  return !isOver;
}

test('a read that has seen all writes waits for the next write, and learns the new number', async () => {
  const writes = new WriteCount();
  writes.note(WRITE);
  const response = openResponse();

  const holding = writes.hold(readAfter('1'), response);
  expect(await isHeld(holding)).toBe(true);
  writes.note(QUERY);
  expect(await isHeld(holding)).toBe(true);
  writes.note(WRITE);

  expect(await holding).toEqual([WRITES_HEADER, '2']);
  expect(response.listenerCount('close')).toBe(0);
});

test('a read that has not seen all writes, or that says nothing of them, is answered at once', async () => {
  const writes = new WriteCount();
  writes.note(WRITE);

  expect(await writes.hold(readAfter('0'), openResponse())).toEqual([WRITES_HEADER, '1']);
  expect(await writes.hold(readAfter(), openResponse())).toEqual([WRITES_HEADER, '1']);
  expect(await writes.hold(QUERY, openResponse())).toEqual([]);
});

test('a held read ends with its client', async () => {
  const response = openResponse();
  const holding = new WriteCount().hold(readAfter('0'), response);
  expect(await isHeld(holding)).toBe(true);

  response.emit('close');

  expect(await isHeld(holding)).toBe(false);
});

test('a held read is answered after a second without a write', async () => {
  expect(await new WriteCount().hold(readAfter('0'), openResponse())).toEqual([WRITES_HEADER, '0']);
});
