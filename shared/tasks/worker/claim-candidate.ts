/**
 * `claimCandidate` claims a task for the worker's session, or settles it without running it:
 * an overdue task expires, and a task whose workers crashed too often is marked dead.
 */
import { isDenied } from '../../core/denied.ts';
import { messageOf } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { limitsOf } from '../../session/limits.ts';
import type { Candidate, Outcome } from '../picker/candidate.ts';
import type { TaskEvents } from '../run/events.ts';
import type { Settlement } from '../run/settle.ts';
import type { TaskLog } from '../task/context.ts';
import type { AnyTask } from '../task/definition.ts';
import { retryOf } from '../task/definition.ts';
import type { Fullness } from '../task/key-limit.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { RunningTask } from '../task/task.ts';
import { WORKER_DIED } from '../task/task.ts';
import type { TaskSpans } from '../tracing/task-spans.ts';
import { isExhausted, isOverdue, isTooLate } from './attempt-limits.ts';
import { decidedClaim } from './decided-claim.ts';
import type { Tally } from './tally.ts';

interface ClaimPorts {
  readonly tasks: TaskStore;
  readonly session: SessionHolder;
  readonly runtime: Runtime;
  readonly log: TaskLog;
  readonly spans?: TaskSpans | undefined;
  /** Aborts when the worker must exit. */
  readonly handBack: AbortSignal;
  /** Monotonic time by which the worker must be done, and its whole lifetime. */
  readonly deadlineMonotonicMs: number;
  readonly lifeMs: number;
  readonly tally: Tally;
  /** Calls the event handlers. */
  readonly tell: (say: (events: TaskEvents) => unknown) => void;
}

/**
 * A refusal for want of a permission turns away one task and not the worker: others may not need that permission.
 * @param definition undefined only for an overdue candidate, which does not run
 */
export async function claimCandidate(
  candidate: Candidate,
  definition: AnyTask | undefined,
  ports: ClaimPorts,
): Promise<RunningTask | Outcome> {
  try {
    return await claimOrSettle(candidate, definition, ports);
  } catch (error) {
    if (!isDenied(error)) throw error;
    const { id: task, name } = candidate.task;
    ports.log.error('a permission is missing to claim a task', { task, name, error: messageOf(error) });
    return 'unfit';
  }
}

async function claimOrSettle(
  candidate: Candidate,
  definition: AnyTask | undefined,
  ports: ClaimPorts,
): Promise<RunningTask | Outcome> {
  const { tasks, session, runtime, tally, tell } = ports;
  if (candidate.kind === 'adopted') return candidate.task;
  if (
    candidate.kind === 'abandoned' &&
    definition !== undefined &&
    isExhausted(candidate.task, retryOf(definition, candidate.task))
  )
    return markDead(candidate.task, ports);
  const stamp = stampOf(runtime);
  if (candidate.kind === 'ready' && isOverdue(candidate, stamp.now)) {
    const { kind } = await tasks.expire(candidate.task, stamp);
    if (kind !== 'applied') return 'contended';
    tally.count('expired');
    tell((events) => events.onExpired?.(candidate.task));
    return 'expired';
  }
  const { lifeMs, deadlineMonotonicMs } = ports;
  const life = { lifeMs, remainingMs: deadlineMonotonicMs - runtime.clock.monotonic() };
  if (definition !== undefined && isTooLate(candidate, definition, life)) return 'unfit';
  const limits = limitsOf(session);
  const send = () =>
    candidate.kind === 'ready'
      ? tasks.claim(candidate.task, session.id, stampOf(runtime), {
          ...limits,
          expectsCapacity: candidate.expectsCapacity,
          // The picker proposes only tasks whose turn has come.
          hasTurn: true,
        })
      : tasks.takeOver(candidate.task, session.id, stampOf(runtime), limits);
  const outcome = await decidedClaim(candidate.task, send, ports);
  if (outcome.kind === 'applied') {
    if (candidate.kind === 'abandoned') tally.count('takenOver');
    return outcome.row;
  }
  const full = 'full' in outcome ? (outcome.full as Fullness | undefined) : undefined;
  if (full !== undefined) return { full };
  tally.count('claimsRefused');
  return 'contended';
}

/** Marks a task dead that used up its attempts by crashing or outliving its workers. */
async function markDead(task: RunningTask, { tasks, runtime, log, spans, tally, tell }: ClaimPorts): Promise<Outcome> {
  const now = runtime.clock.now();
  const deaths = task.deaths + 1;
  const message =
    `its worker died ${deaths} times without a word, the last in session ${task.session}` +
    (deaths < task.attempts ? `; it was attempted ${task.attempts} times` : '') +
    '; a worker leaves none that is killed, runs out of memory, or blocks its event loop for longer than its session lives';
  const error = { name: WORKER_DIED, message, at: now };
  const outcome = await tasks.markDead(task, error, { now, nonce: runtime.ids.unique() });
  if (outcome.kind !== 'applied') return 'contended';
  tally.count('markedDead');
  tell((events) => events.onDied?.(task, error));
  spans?.markedDead(task, now);
  log.error('task is dead', { task: task.id, name: task.name, error });
  return 'ended';
}

export function isClaimed(claimed: RunningTask | Outcome): claimed is RunningTask {
  return typeof claimed === 'object' && 'state' in claimed;
}

/** A task that was handed back keeps its turn, and a lost task did not free a slot. */
export function outcomeOf(settlement: Settlement): Outcome {
  if (settlement === 'unsettled') return 'undecided';
  if (settlement === 'released' || settlement === 'lost') return 'kept';
  return ['retried', 'snoozed', 'suspended'].includes(settlement) ? 'settled' : 'ended';
}
