/** A task that an outage has marked dead is noticed. The other rules of what must happen in the end have seeded bugs (`rules.test.ts`). */
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
}

function violationsOf({ rows = {}, ids = [] }: World): readonly string[] {
  const checker = new Checker(assumptionsOf(drawProfile(new Prng(1n), 'calm')));
  const process = { name: 'w1.1', requesting: 0 };
  const fleet = { isIdle: true, environments: [{ name: 'w1', process, invocation: undefined }] } as unknown as Fleet;
  const recorder = {
    rows: new Map(Object.entries(rows)),
    believers: [],
    takenByCopies: new Set<string>(),
    askAll: () => undefined,
  } as unknown as Recorder;
  new Liveness({ timeline: new Timeline(), fleet, checker, clocksHold: true }).judge(recorder, ids);
  return checker.violations.map(({ invariant }) => invariant);
}

test('L18 notices a task that an outage has buried, unless it may be attempted once only', () => {
  const lastError = { name: 'StoreUnavailableError', message: 'was not answered' };
  const buried = (name: string) => ({ 'task#jobs#a': { state: 'dead', name, lastError } });

  expect(violationsOf({ rows: buried('quick'), ids: ['a'] })).toEqual(['L18']);
  expect(violationsOf({ rows: buried('once'), ids: ['a'] })).toEqual([]);
});
