/**
 * Passes the turn of a line whose head cannot pass it itself: its row was deleted by hand, or a restored table shows that it has ended.
 * Otherwise the transaction that ends the head passes the turn, so a line does not need this.
 */
import { defined } from '../../../core/defined.ts';
import type { Stamp } from '../../../core/lease/stamp.ts';
import { contended } from '../../../core/wait/retry-contended.ts';
import type { Contended } from '../../../core/wait/retry-contended.ts';
import { taskKey } from '../../../dynamo/engine/keys.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { checkStatement } from '../../../dynamo/engine/statement.ts';
import type { TransactionCheck } from '../../../dynamo/engine/statement.ts';
import { tokenOf, transactStatement } from '../../../dynamo/engine/transaction.ts';
import type { PassReport } from '../../task/task-operator-store.ts';
import type { TaskKey, TaskRecord } from '../../task/task.ts';
import type { Lines } from './lines.ts';

/** Waiting tasks whose rows are gone too, and are skipped. More of them need another call. */
const SKIPPED_LIMIT = 20;

/** @param at the head, and its row as it was read: absent, or of a task that has left the line */
export async function passLine(
  { sender, table, lines }: { readonly sender: Sender; readonly table: string; readonly lines: Lines },
  at: { readonly queue: string; readonly key: string; readonly head: string; readonly task: TaskRecord | undefined },
  stamp: Stamp,
): Promise<PassReport | Contended> {
  const { queue, key, head, task } = at;
  const gone = new Set<number>();
  while (gone.size < SKIPPED_LIMIT) {
    const plan = await lines.planPass({ queue, key, head }, gone, stamp);
    if (plan === undefined) return contended();
    const actions = [...plan.actions.map(({ action }) => action), isAsRead(table, { queue, id: head }, task)];
    const statement = transactStatement('line.pass', actions, tokenOf(stamp, actions));
    const result = await sender.transact(statement, stamp.nonce);
    if (result.kind === 'applied') return { kind: 'passed', head, ...defined({ next: plan.next }) };
    const refused = plan.actions.filter(
      (_, index) => result.kind === 'canceled' && result.reasons[index]?.code === 'ConditionalCheckFailed',
    );
    const suspects = refused.flatMap(({ suspect }) => (suspect === undefined ? [] : [suspect]));
    if (suspects.length === 0) return contended(result);
    for (const suspect of suspects) gone.add(suspect);
  }
  return contended();
}

/** Guard: the head's row is still absent, or still the ended one. */
export function isAsRead(table: string, { queue, id }: TaskKey, task: TaskRecord | undefined): TransactionCheck {
  return task === undefined
    ? checkStatement(table, taskKey(queue, id), 'attribute_not_exists(#pk)', {})
    : checkStatement(table, taskKey(queue, id), '#nonce = :observedNonce', { ':observedNonce': task.nonce });
}
