/** The ended tasks of a queue, from its list: queries, and their pages. */
import { ConfigurationError, shown } from '../../core/errors.ts';
import { pagesOf } from '../../core/runtime/take.ts';
import { spanMs } from '../../core/validate/duration.ts';
import type { When } from '../../core/validate/moment.ts';
import { whenMs } from '../../core/validate/moment.ts';
import type { EndedEntry, EndedQuery } from '../task/ended-list.ts';
import { DEFAULT_SHARDS } from '../task/task.ts';
import type { OperatorPorts } from './operator-ports.ts';

export interface EndedOptions {
  /** Default: all. */
  readonly states?: EndedQuery['states'] | undefined;
  /** A span before now, or a moment. */
  readonly since?: When | undefined;
  readonly until?: When | undefined;
}

export const ENDED_STATES = ['done', 'dead', 'cancelled'] as const;

/** @throws ConfigurationError before the first entry, if the queue does not list what is asked for */
export async function* endedTasks(
  { queues, operations, runtime }: Pick<OperatorPorts, 'queues' | 'operations' | 'runtime'>,
  {
    queue,
    shards = DEFAULT_SHARDS,
    states = ENDED_STATES,
    ...range
  }: EndedOptions & {
    readonly queue: string;
    readonly shards?: number | undefined;
  },
): AsyncGenerator<EndedEntry> {
  const { since, until } = endedBetween(range, runtime.clock.now());
  const unknown = states.find((state) => !ENDED_STATES.includes(state));
  if (unknown !== undefined || states.length === 0)
    throw new ConfigurationError(`states = ${shown(states)}: must be some of ${ENDED_STATES.join(', ')}`);
  const record = await queues.glance(queue);
  if (record?.listedSince === undefined && states.some((state) => state !== 'dead'))
    throw new ConfigurationError(doesNotList(queue));
  const query = { queue, shards: Math.max(shards, record?.shards ?? 0), states, since, until };
  for await (const { entries } of pagesOf((after) => operations.pageOfEnded(query, after))) yield* entries;
}

export function doesNotList(queue: string): string {
  return (
    `queue ${queue} does not list its finished tasks: switch that on with listFinished: true of its TaskWorkers or createWorker, ` +
    'or with leasehold work --list-finished; dead tasks are listed without it'
  );
}

/** @throws ConfigurationError for a range without a moment in it, or in the future */
export function endedBetween(
  { since, until }: Pick<EndedOptions, 'since' | 'until'>,
  now: number,
): Pick<EndedQuery, 'since' | 'until'> {
  const range = { since: momentAgo('since', since, now) ?? 0, until: momentAgo('until', until, now) ?? LATEST };
  if (range.since > now)
    throw new ConfigurationError(
      `since = ${shown(since)} is in the future: pass a span before now, such as '1h', or a past moment`,
    );
  if (range.since > range.until)
    throw new ConfigurationError(`since = ${shown(since)} is after until = ${shown(until)}: exchange them`);
  return range;
}

function momentAgo(what: string, when: When | undefined, now: number): number | undefined {
  if (when === undefined) return undefined;
  const ms = typeof when === 'string' ? spanMs(when) : undefined;
  return ms === undefined ? whenMs(what, when, now) : now - ms;
}

/** Other machines' clocks may be ahead of ours. */
const LATEST = 253_402_300_799_999;
