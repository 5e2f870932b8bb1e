import { expect, test } from 'vitest';
import { throttleLog } from '../../functions/throttle-log.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';
import type { Statement } from '../../shared/dynamo/engine/statement.ts';
import { ManualClock } from '../support/manual-clock.ts';

const fault = new DynamoFault('throttled', { code: 'ThrottlingException', message: 'KeyRangeThroughputExceeded' });
const of = (verb: string, pk: string) => ({
  statement: { verb, kind: 'update', input: { Key: { pk } } } as unknown as Statement,
  fault,
});

test('reports a throttled request immediately with verb, key and reason, once in ten seconds per verb', () => {
  const clock = new ManualClock('2026-11-24T20:00:00.000Z');
  const lines: unknown[] = [];
  const log = throttleLog({ warn: (message, extra) => void lines.push([message, extra]) }, clock);

  log.onAttempt(of('lock.acquire', 'lock#a'));
  log.onAttempt(of('lock.acquire', 'lock#b'));
  log.onAttempt({ ...of('lock.acquire', 'lock#c'), fault: new DynamoFault('conflict', { code: 'c', message: 'm' }) });
  log.onAttempt(of('session.create', 'session#s'));

  expect(lines).toEqual([
    ['store throttled', { verb: 'lock.acquire', key: 'lock#a', error: 'KeyRangeThroughputExceeded' }],
    ['store throttled', { verb: 'session.create', key: 'session#s', error: 'KeyRangeThroughputExceeded' }],
  ]);
});
