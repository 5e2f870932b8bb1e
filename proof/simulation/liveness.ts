/**
 * Events that must happen once all faults have ended.
 *
 * L3 every task ends within a bound made of TTL, clock bound, waits and ticks.
 * L18 no task is dead because of an outage of the store, except one with a single attempt: its other effects must not repeat.
 * L7 cleanup: no invocation, timer, request, belief or session remains, except sessions whose process has crashed.
 */
import { splitKey } from '../../shared/dynamo/engine/keys.ts';
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { Timeline } from '../../test/support/machines/timeline.ts';
import type { Checker } from './checker.ts';
import type { Fleet } from './fleet.ts';
import { isSession, isTask } from './invariants/rule.ts';
import type { Profile } from './profile.ts';
import type { Recorder } from './recorder.ts';
import { STAYS } from './workloads/flood.ts';
import { maxAttemptsOf } from './workloads/task-code.ts';

interface LivenessPorts {
  readonly timeline: Timeline;
  readonly fleet: Fleet;
  readonly checker: Checker;
  readonly clocksHold: boolean;
}

const ENDED = new Set<unknown>(['done', 'dead', 'cancelled']);

export class Liveness {
  readonly #ports: LivenessPorts;

  constructor(ports: LivenessPorts) {
    this.#ports = ports;
  }

  /** Whether all work is done and everybody has gone home. */
  isQuiet(rows: ReadonlyMap<string, DynamoItem>): boolean {
    if (!this.#ports.fleet.isIdle) return false;
    for (const [row, item] of rows) if (isTask(row) && !ENDED.has(item.state) && !mayStay(item)) return false;
    return true;
  }

  judge(recorder: Recorder, ids: readonly string[]): void {
    const { checker, fleet } = this.#ports;
    // With clocks hours apart a task is due by its producer's clock, so there are no guarantees.
    if (!this.#ports.clocksHold) return;
    const tasks = [...recorder.rows].filter(([row]) => isTask(row));
    for (const [row, item] of tasks) {
      const { state, attempts } = item;
      if (!ENDED.has(state) && !mayStay(item))
        checker.report(
          'L3',
          row,
          `is still ${String(state)} after ${String(attempts)} attempts, long after the last fault`,
        );
      // A cause outside the task's code must not mark it dead.
      const { name, message } = (item.lastError ?? {}) as { readonly name?: string; readonly message?: string };
      if (state === 'dead' && name === 'StoreUnavailableError' && maxAttemptsOf(String(item.name)) > 1)
        checker.report('L18', row, `is dead of an outage of the store: ${String(message)}`);
    }
    if (tasks.length < ids.length)
      checker.report('L3', '', `${tasks.length} of ${ids.length} tasks have been enqueued, long after the last fault`);
    if (!fleet.isIdle) return;
    for (const { process } of fleet.environments) {
      if (process === undefined) continue;
      if (process.requesting > 0)
        checker.report('L7', '', `${process.name} has ${process.requesting} requests under way although it is idle`);
    }
    for (const [row, { status, node }] of recorder.rows) {
      if (!isSession(row) || status !== 'live') continue;
      const isIdle = fleet.environments.some(({ process }) => process !== undefined && process.name === node);
      if (isIdle && isHeld(recorder, row))
        checker.report('L7', row, `is still believed in by ${String(node)}, which is idle`);
    }
  }
}

/**
 * Returns how long all tasks may take once healed: current stalls, then attempt after attempt, each at worst with a holder
 * that crashes silently and must expire.
 */
export function healedBoundMs(profile: Profile): number {
  const { ttlMs, maxClockSkewMs, tickMs, invocationMs, hogTasks, floodTasks, clocksHold } = profile;
  const tasks = profile.tasks + hogTasks + floodTasks;
  if (!clocksHold) return 3 * invocationMs;
  const stallMs = 3 * ttlMs;
  const takeOverMs = ttlMs + 2 * maxClockSkewMs + 2 * tickMs + 2_000;
  return stallMs + 3 * invocationMs + 12 * takeOverMs + tasks * ttlMs;
}

/** A key or a rate holds it back for longer than any history lasts. */
function mayStay({ pk }: DynamoItem): boolean {
  return splitKey(String(pk))[2]?.startsWith(STAYS) === true;
}

function isHeld(recorder: Recorder, row: string): boolean {
  recorder.askAll();
  return recorder.believers.some((right) => right.row === row);
}
