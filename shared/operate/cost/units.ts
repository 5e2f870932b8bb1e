/**
 * Write units per operation, for rows of the sizes that the statements write; `test/unit/operate/cost/measured.test.ts` compares them with
 * what the simulated store charges, and `npm run bench -- units` with an engine.
 */
import { DEFLATE_FROM_BYTES } from '../../dynamo/engine/stored-json.ts';
import { INPUT_LIMIT_BYTES } from '../../tasks/task/task.ts';
import type { Workload } from './workload.ts';

/** Units of the table and of each index separately, because each has its own throughput limit. */
export interface VerbUnits {
  readonly table: number;
  readonly readyIndex: number;
  readonly directoryIndex: number;
  readonly total: number;
}

/**
 * A task's row by its state, without input and result; the bytes of a reference to a payload, and the payload's row without its text.
 */
const BYTES = { ready: 300, running: 363, retried: 587, done: 347, reference: 135, payload: 119 };
/** What the list of finished tasks adds to a row, and its entry in the index, of a task without a label. */
const LISTED_BYTES = { inRow: 82, entry: 139 };
/** The service's overhead per stored row. */
const STORAGE_OVERHEAD_BYTES = 100;

export type VerbTable = ReturnType<typeof tableOf>;

type Shape = Pick<Workload, 'inputBytes' | 'resultBytes' | 'deflatedShare' | 'commitItems'> &
  Partial<Pick<Workload, 'steps' | 'listFinished'>>;

export function verbTable(shape: Shape): VerbTable {
  return tableOf(shape);
}

function tableOf({ inputBytes, resultBytes, deflatedShare, commitItems, steps = 0, listFinished = false }: Shape) {
  const stored = (bytes: number): number => (bytes < DEFLATE_FROM_BYTES ? bytes : Math.ceil(bytes * deflatedShare));
  const isApart = inputBytes > INPUT_LIMIT_BYTES;
  const input = isApart ? BYTES.reference : stored(inputBytes);
  const result = resultBytes === 0 ? 0 : 'result'.length + stored(resultBytes);
  const row = (bytes: number, perUnit = 1_024): number => Math.ceil(bytes / perUnit);
  const [ready, running] = [row(BYTES.ready + input), row(BYTES.running + input)];
  const doneBytes = BYTES.done + input + result + (listFinished ? LISTED_BYTES.inRow : 0);
  const ended = Math.max(running, row(doneBytes));
  const entry = listFinished ? 1 : 0;
  const payloadBytes = isApart ? BYTES.payload + stored(inputBytes) : 0;
  const payload = row(payloadBytes);
  return {
    /** With its payload. */
    enqueue: units(ready + payload, 1),
    claim: units(running),
    complete: units(ended, 1, entry),
    /** With the user's items. */
    commit: commitItems === 0 ? units(ended, 1, entry) : units(2 * (ended + commitItems), 1, entry),
    /** Refused by one of their conditions, and barred. */
    refusedCommit: units(2 * (running + commitItems) + row(BYTES.running + '#sequence'.length + 1 + input)),
    retry: units(Math.max(running, row(BYTES.retried + input)), 2),
    refusedClaim: units(running),
    removePayload: units(payload),
    step: units(running * stepUnits(steps)),
    /** A suspension, which moves the entry, and the next claim. */
    wait: units(2 * running, 2),
    callback: units(running * CALLBACK_UNITS, 4),
    /** Per attempt. */
    payloadReadUnits: row(payloadBytes, 4_096),
    /** Of a worker, which is not in the directory. */
    createSession: units(1),
    heartbeat: units(1),
    /** Only of a worker that may hold a task: others are left to their TTL. */
    endSession: units(1),
    acquirePermit: units(1),
    releasePermit: units(1),
    /** Bytes of a finished task's own row and of its entry, the service's own included. */
    storedBytes: doneBytes + STORAGE_OVERHEAD_BYTES + entry * (LISTED_BYTES.entry + STORAGE_OVERHEAD_BYTES),
  };
}

/** Two checkpoints, a suspension, the answer with its row, the next claim, and a share of the moves to separate rows: measured. */
const CALLBACK_UNITS = 7;
/** The first steps fit into the task's row; later ones move to separate rows: measured. */
const STEPS_IN_ROW = 5;
const LATER_STEP_UNITS = 1.2;

/** On average. */
function stepUnits(steps: number): number {
  const later = Math.max(0, steps - STEPS_IN_ROW);
  return steps === 0 ? 1 : (steps - later + later * LATER_STEP_UNITS) / steps;
}

function units(table: number, readyIndex = 0, directoryIndex = 0): VerbUnits {
  return { table, readyIndex, directoryIndex, total: table + readyIndex + directoryIndex };
}

/** Average units of one task's course, by the operations and how often each is sent. */
export function taskUnits(course: Workload, verbs: VerbTable): Omit<VerbUnits, 'directoryIndex'> {
  const { attemptsPerTask, commitItems, refusedPerTask, refusedCommitsPerTask, steps, waits, callbacks } = course;
  const sent: readonly (readonly [VerbUnits, times: number])[] = [
    [verbs.enqueue, 1],
    [verbs.claim, attemptsPerTask],
    [verbs.retry, attemptsPerTask - 1],
    [commitItems > 0 ? verbs.commit : verbs.complete, 1],
    [verbs.refusedClaim, refusedPerTask],
    [verbs.refusedCommit, refusedCommitsPerTask],
    [verbs.removePayload, 1],
    [verbs.step, steps],
    [verbs.wait, waits],
    [verbs.callback, callbacks],
  ];
  const sum = (of: keyof VerbUnits): number => sent.reduce((all, [one, times]) => all + one[of] * times, 0);
  return { total: sum('total'), table: sum('table'), readyIndex: sum('readyIndex') };
}
