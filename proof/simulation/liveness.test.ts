/** Liveness rules notice if an expected event did not happen in the end. */
import { expect, test } from 'vitest';
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import { Timeline } from '../../test/support/machines/timeline.ts';
import { Checker } from './checker.ts';
import type { Fleet } from './fleet.ts';
import { Liveness } from './liveness.ts';
import { drawProfile } from './draw-profile.ts';
import { Prng } from '../../test/support/machines/prng.ts';
import type { Recorder } from './recorder.ts';
import { assumptionsOf } from './history-result.ts';

interface World {
  readonly rows?: Readonly<Record<string, DynamoItem>>;
  readonly ids?: readonly string[];
  readonly believers?: readonly { readonly row: string }[];
  /** Requests in flight in the only process. */
  readonly requesting?: number;
}

function violationsOf({ rows = {}, ids = [], believers = [], requesting = 0 }: World): readonly string[] {
  const checker = new Checker(assumptionsOf(drawProfile(new Prng(1n), 'calm')));
  const process = { name: 'w1.1', requesting };
  const fleet = { isIdle: true, environments: [{ name: 'w1', process, invocation: undefined }] } as unknown as Fleet;
  const recorder = {
    rows: new Map(Object.entries(rows)),
    believers,
    takenByCopies: new Set<string>(),
    askAll: () => undefined,
  } as unknown as Recorder;
  new Liveness({ timeline: new Timeline(), fleet, checker, clocksHold: true }).judge(recorder, ids);
  return checker.violations.map(({ invariant }) => invariant);
}

test('a world that is at rest is right', () => {
  expect(violationsOf({ rows: { 'task#jobs#a': { state: 'done' } }, ids: ['a'] })).toEqual([]);
});

test.each(['ready', 'running'])('L3 notices a task that is still %s', (state) => {
  expect(violationsOf({ rows: { 'task#jobs#a': { state } }, ids: ['a'] })).toEqual(['L3']);
});

test('L3 notices a task that has not been enqueued', () => {
  expect(violationsOf({ ids: ['a'] })).toEqual(['L3']);
});

test('L18 notices a task that an outage has buried, unless it may be attempted once only', () => {
  const lastError = { name: 'StoreUnavailableError', message: 'was not answered' };
  const buried = (name: string) => ({ 'task#jobs#a': { state: 'dead', name, lastError } });

  expect(violationsOf({ rows: buried('quick'), ids: ['a'] })).toEqual(['L18']);
  expect(violationsOf({ rows: buried('once'), ids: ['a'] })).toEqual([]);
});

test('L7 notices a request that is left under way', () => {
  expect(violationsOf({ requesting: 1 })).toEqual(['L7']);
});

test('L7 notices a session that an idle process believes in', () => {
  const rows = { 'session#s': { status: 'live', node: 'w1.1' } };

  expect(violationsOf({ rows, believers: [{ row: 'session#s' }] })).toEqual(['L7']);
  expect(violationsOf({ rows })).toEqual([]);
});
