/**
 * Makes a plan, for ticks and for wakes: applies `plan.ts` to the entries of a poll.
 *
 * It reads rows only if a plan wants more workers than there are. That is usually a single read request, and a second one for the rows of
 * keys.
 */
import type { Runtime } from '../../core/runtime/runtime.ts';
import { judgeSession } from '../../session/session-record.ts';
import type { SessionStore } from '../../session/session-store.ts';
import type { QueueRecord } from '../task/queue-store.ts';
import { isPausedTenant } from '../task/queue-store.ts';
import type { ReadyEntry, TaskStore } from '../task/task-store.ts';
import type { TaskRecord } from '../task/task.ts';
import type { Demand } from './demand.ts';
import { servable, spread } from './demand.ts';
import { readKeys, readTurns } from './read-links.ts';
import type { PlanSettings, Why } from './plan.ts';
import { wantedWorkers } from './plan.ts';

/** Rows of a sample, at half a read unit each. */
const SAMPLED = 25;

interface PlanningPorts {
  readonly tasks: Pick<TaskStore, 'getMany' | 'getKeys' | 'getTurns'>;
  readonly sessions: Pick<SessionStore, 'getMany'>;
  readonly runtime: Runtime;
  readonly onDamaged: (error: unknown) => void;
}

interface Situation {
  readonly demand: Demand;
  readonly hints: readonly ReadyEntry[];
  /** Rows that have been read already. */
  readonly rows: readonly TaskRecord[];
  readonly record: QueueRecord | undefined;
  /** Sessions of the live workers that hold a permit. */
  readonly holders: readonly string[];
  /** Started workers that have no permit yet. */
  readonly starting: number;
  /** Whether tasks come one by one, as far as a waker knows. */
  readonly comeOneByOne?: boolean;
}

/** A plan in figures, for logs and reports. */
export interface Planned {
  readonly due: number;
  readonly late: number;
  readonly tookMs: number | undefined;
  readonly startWithinMs: number;
  readonly wanted: number;
  readonly live: number;
  readonly starting: number;
  /** More workers than `maxWorkers` allows. */
  readonly missing: number;
  readonly why: Why;
}

/** Returns the number of workers wanted, and the demand that new workers could serve. */
export async function plan(
  { demand: seen, hints, rows, record, holders, starting, comeOneByOne = false }: Situation,
  ports: PlanningPorts,
  settings: PlanSettings & { readonly maxClockSkewMs: number },
): Promise<{ readonly planned: Planned; readonly demand: Demand }> {
  const atWork = holders.length + starting;
  const wantedFor = (demand: Demand) => wantedWorkers(demand, atWork, settings, comeOneByOne);
  const asSeen = wantedFor(seen);
  const demand = asSeen.workers > atWork ? await sampled() : seen;
  const { workers, missing, why } = demand === seen ? asSeen : wantedFor(demand);
  const { due, late, tookMs } = demand;
  const figures = { due: Math.round(due), late: Math.round(late), tookMs, startWithinMs: settings.startWithinMs };
  return { planned: { ...figures, wanted: workers, live: holders.length, starting, missing, why }, demand };

  async function sampled(): Promise<Demand> {
    const sample = await rowsOf(spread(hints, SAMPLED), rows, ports);
    const now = ports.runtime.clock.now();
    const elsewhere = await sessionsElsewhere(sample, new Set(holders), now, ports, settings);
    const rated = sample.filter(({ state, links }) => state === 'ready' && links?.concurrency?.rate !== undefined);
    const keys = await readKeys(rated, ports);
    const turns = await readTurns(sample, ports);
    const unknownNames = new Set(record?.unknownNames);
    const isPaused = (tenant: string | undefined): boolean => isPausedTenant(record, tenant);
    return servable(seen, sample, { now, elsewhere, keys, turns, unknownNames, isPaused }, settings);
  }
}

async function rowsOf(
  entries: readonly ReadyEntry[],
  known: readonly TaskRecord[],
  { tasks, onDamaged }: PlanningPorts,
): Promise<readonly TaskRecord[]> {
  const read = new Map(known.map((row) => [row.id, row]));
  const unread = entries.filter(({ id }) => !read.has(id));
  const others = unread.length === 0 ? [] : await tasks.getMany(unread, onDamaged);
  return [...entries.flatMap(({ id }) => read.get(id) ?? []), ...others];
}

/** Live sessions that hold one of these tasks without a permit. Expired sessions do not count: their tasks wait to be taken over. */
async function sessionsElsewhere(
  rows: readonly TaskRecord[],
  holders: ReadonlySet<string>,
  now: number,
  { sessions, onDamaged }: PlanningPorts,
  { maxClockSkewMs }: { readonly maxClockSkewMs: number },
): Promise<ReadonlySet<string>> {
  const ids = new Set(rows.flatMap((row) => (row.state === 'running' ? [row.session] : [])));
  const unknown = [...ids].filter((id) => !holders.has(id));
  if (unknown.length === 0) return new Set();
  const found = await sessions.getMany(unknown, (_, error) => onDamaged(error));
  return new Set(unknown.filter((id) => judgeSession(found.get(id), now, maxClockSkewMs).kind === 'live'));
}
