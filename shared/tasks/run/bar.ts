/**
 * The bar: the write after a refused commit, sent before the caller learns that nothing was applied.
 * The network may deliver a copy of the commit later, when the failed condition has become true. The bar makes the store refuse that copy.
 */
import { StoreUnavailableError } from '../../core/errors.ts';
import type { CommitOutcome, Settled } from '../task/task-store.ts';
import type { TaskRecord } from '../task/task.ts';

type Canceled = Extract<CommitOutcome, { kind: 'canceled' }>;

/**
 * Raises the bar and returns the final outcome of the commit. It is `applied` if a copy of the commit was faster than the bar.
 * @param commit its nonce, and the state in which it leaves the task
 * @throws StoreUnavailableError with `applied: 'unknown'` if the store did not confirm the bar
 */
export async function barred(
  refused: Canceled,
  commit: { readonly nonce: string; readonly to: TaskRecord['state'] },
  raise: () => Promise<Settled>,
): Promise<CommitOutcome> {
  const bar = await raise().catch((error: unknown) => {
    if (!(error instanceof StoreUnavailableError)) throw error;
    const message = 'the commit was refused, but the store did not confirm that no copy of it can be applied later';
    throw new StoreUnavailableError(message, { applied: 'unknown', cause: error });
  });
  if (bar.kind === 'applied') return refused;
  const { current } = bar;
  if (current?.nonce !== commit.nonce) return bar;
  return { kind: 'applied', isFollowed: current.state !== commit.to };
}
