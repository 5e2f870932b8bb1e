/** The SDK's requests to record: the entries, and the other effects of their transactions. */
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import type { Effect } from '../task/task-store.ts';
import type { Entry } from './entry.ts';

/** An entry, with the user's writes or the child task that its transaction also applies. */
export interface Asked {
  readonly entry: Entry;
  readonly effects: readonly Effect[];
}

/** The execution cannot continue; repeating the call does not help. */
export class JournalLimitError extends Error {
  override readonly name = 'JournalLimitError';
}

/** AWS's limit of a step or a context. */
export const ENTRY_LIMIT_BYTES = 256 * 1_024;
/** A transaction has 100 actions: one is the task's own, some are older elements. A child has up to two. */
const EFFECTS_LIMIT = 90;

/** @throws JournalLimitError that names the operation */
export function ensureEntryFits({ r = '', e, y, n, i }: Entry): void {
  const bytes = utf8Bytes(r) + (e === undefined ? 0 : utf8Bytes(JSON.stringify(e)));
  if (bytes <= ENTRY_LIMIT_BYTES) return;
  const what = `${y === 'STEP' ? 'step' : y === 'CONTEXT' ? 'context' : 'operation'} ${JSON.stringify(n ?? i)}`;
  throw new JournalLimitError(
    `the result of ${what} has ${bytes} bytes: at most ${ENTRY_LIMIT_BYTES} are recorded; store it elsewhere and return a reference`,
  );
}

/** As few transactions as possible, in the given order. @throws JournalLimitError for a step with too many writes */
export function inTransactions(asked: readonly Asked[]): readonly (readonly Asked[])[] {
  const transactions: Asked[][] = [[]];
  let count = 0;
  for (const one of asked) {
    const actions = one.effects.reduce((sum, effect) => sum + ('spawn' in effect ? 2 : 1), 0);
    if (actions > EFFECTS_LIMIT)
      throw new JournalLimitError(
        `step ${JSON.stringify(one.entry.n ?? one.entry.i)} has ${actions} writes: at most ${EFFECTS_LIMIT} fit into its transaction`,
      );
    if (count + actions > EFFECTS_LIMIT) {
      transactions.push([]);
      count = 0;
    }
    transactions.at(-1)?.push(one);
    count += actions;
  }
  return transactions;
}
