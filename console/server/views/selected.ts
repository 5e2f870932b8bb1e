/** Counts the unfinished tasks that an operator is about to cancel. */
import { take } from '../../../shared/core/runtime/take.ts';
import type { Selection } from '../../../shared/tasks/queue/cancel-selection.ts';
import { selecting } from '../../../shared/tasks/queue/cancel-selection.ts';
import type { SelectedPage } from '../../model.ts';
import type { ConsoleConnection } from '../connection.ts';
import type { Priced } from '../shared-reads.ts';

/** Half a read unit each. */
const CHECKED_AT_MOST = 10_000;

export async function readSelected(
  connection: ConsoleConnection,
  queue: string,
  selection: Selection,
): Promise<Priced<SelectedPage>> {
  const { leasehold, spent } = connection.open();
  const open = leasehold.operator.open({ queue, shards: connection.options.shards });
  const { rows, more: isMore } = await take(open, CHECKED_AT_MOST);
  const chosen = rows.filter(selecting(selection));
  const running = chosen.filter(({ state }) => state === 'running').length;
  return { value: { waiting: chosen.length - running, running, isMore }, units: spent() };
}
