/**
 * Traces the writes of a pack: one span for the items that a write records together, and one for each item that ends with its own write.
 */
import type { AttemptTrace } from '../run/traced.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { PackOf } from '../task/pack.ts';
import { itemTask } from '../task/pack.ts';
import type { CommitOutcome } from '../task/task-store.ts';
import type { RunningTask } from '../task/task.ts';
import type { Span } from '../tracing/tracing.ts';
import { sendWithin } from '../tracing/tracing.ts';
import type { PackStore } from './pack-store.ts';

interface TracedPackPorts {
  readonly trace?: AttemptTrace | undefined;
  readonly runtime: Runtime;
  /** Span of the running item. */
  readonly itemSpan: () => Span | undefined;
}

/** The pack's own end already has a span, as for any task. */
export function tracedPacks(packs: PackStore, pack: PackOf<RunningTask>, ports: TracedPackPorts): PackStore {
  const { trace, runtime, itemSpan } = ports;
  if (trace === undefined) return packs;
  const { clock } = runtime;
  const isApplied = ({ kind }: { readonly kind: string }): boolean => kind === 'applied';
  const ofItem = (verb: string, index: number, send: () => Promise<CommitOutcome>): Promise<CommitOutcome> => {
    const within = itemSpan() ?? trace.attempt;
    return sendWithin(
      trace.spans.settle(verb, itemTask(pack, index), { at: clock.now(), within }),
      clock,
      send,
      isApplied,
    );
  };
  return {
    ...packs,
    record: (claim, entry, ...rest) => {
      const span = trace.spans.settle('record', pack, {
        at: clock.now(),
        within: trace.attempt,
        count: entry.done.length,
      });
      return sendWithin(span, clock, () => packs.record(claim, entry, ...rest), isApplied);
    },
    commit: (claim, index, ...rest) => ofItem('commit', index, () => packs.commit(claim, index, ...rest)),
    move: (claim, item, ...rest) => ofItem('move', item.index, () => packs.move(claim, item, ...rest)),
  };
}
