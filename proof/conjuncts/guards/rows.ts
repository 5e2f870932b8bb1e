/** Rows in memory, and writes to them: for cases in which a write is late, and must be refused by one conjunct of its guard alone. */
import type { DynamoItem, DynamoKind } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import type { RowKey } from '../../../shared/dynamo/engine/keys.ts';
import { sessionKey, taskKey } from '../../../shared/dynamo/engine/keys.ts';
import type { Statement, TransactionCheck } from '../../../shared/dynamo/engine/statement.ts';
import { updateStatement } from '../../../shared/dynamo/engine/statement.ts';
import { actionOf, together } from '../../../shared/dynamo/engine/transaction.ts';
import { createSession } from '../../../shared/session/row/session-statements.ts';
import { decodeTask } from '../../../shared/tasks/rows/task/task-codec.ts';
import * as tasks from '../../../shared/tasks/rows/task/task-statements.ts';
import type { NewTask } from '../../../shared/tasks/task/task-store.ts';
import type { EndedTask, ReadyTask, RunningTask, TaskRecord } from '../../../shared/tasks/task/task.ts';
import type { SimulatedDynamo } from '../../../shared/testing/simulated-dynamo/simulated-dynamo.ts';
import { memoryDynamo } from '../../../shared/testing/memory-table.ts';

export const TABLE = 't';
export const NOW = 1_700_000_000_000;

/** By conjunct: builds a write that comes too late, or meets what it did not expect, so that this conjunct alone refuses it. */
export type Cases = Readonly<Record<string, (rows: Rows) => Statement>>;

/** The cases of several verbs. */
export function ofEach<T>(all: readonly T[], casesOf: (one: T) => Cases): Cases {
  return Object.fromEntries(all.flatMap((one) => Object.entries(casesOf(one))));
}

export class Rows {
  readonly store: SimulatedDynamo = memoryDynamo(TABLE, () => NOW);
  #nonces = 0;

  stamp(now = NOW): { readonly now: number; readonly nonce: string } {
    return { now, nonce: `nonce-${++this.#nonces}` };
  }

  /** @throws DynamoFault when it is refused */
  write({ kind, input }: Statement): void {
    this.store.apply<DynamoKind>(kind, input);
  }

  /** `rejected`: the guard lets it through, but its effect needs a missing attribute. */
  outcomeOf(statement: Statement): 'applied' | 'refused' | 'rejected' {
    try {
      this.write(statement);
      return 'applied';
    } catch (error) {
      if (!(error instanceof DynamoFault)) throw error;
      const isRefused =
        error.kind === 'conditionFailed' || error.reasons.some(({ code }) => code === 'ConditionalCheckFailed');
      return isRefused ? 'refused' : 'rejected';
    }
  }

  read({ pk, sk }: RowKey): DynamoItem {
    const { Item } = this.store.apply('get', { TableName: TABLE, Key: { pk, sk }, ConsistentRead: true });
    if (Item === undefined) throw new Error(`there is no row ${pk}`);
    return Item;
  }

  /** Changes an attribute behind the protocol's back, as another version of it might. */
  set(key: RowKey, attribute: string, value: unknown): void {
    this.store.apply('put', { TableName: TABLE, Item: { ...this.read(key), ...key, [attribute]: value } });
  }

  session(id: string): string {
    this.write(
      createSession(TABLE, {
        id,
        name: 'worker',
        node: 'n',
        ttlMs: 9_000,
        lockDelayMs: 0,
        behaviour: 'release',
        ...this.stamp(),
      }),
    );
    return id;
  }

  sessionRow(id: string): DynamoItem {
    return this.read(sessionKey(id));
  }

  /** A task that is due. */
  ready(more: Partial<NewTask> = {}, seat?: Parameters<typeof tasks.enqueueTask>[4]): ReadyTask {
    this.write(tasks.enqueueTask(TABLE, newTask(more), 1, this.stamp(), seat));
    return this.seen(more.id) as ReadyTask;
  }

  /** The same, and running. */
  running(session = 's', more: Partial<NewTask> = {}): RunningTask {
    return this.claimed(this.ready(more), session);
  }

  claimed(task: ReadyTask, session = 's'): RunningTask {
    this.write(tasks.claimTask(TABLE, task, session, this.stamp()));
    return this.seen(task.id) as RunningTask;
  }

  /** Handed back, and claimed again by the very session. */
  claimedAgain(task: RunningTask): RunningTask {
    this.write(tasks.releaseTask(TABLE, task, this.stamp()));
    return this.claimed(this.seen(task.id) as ReadyTask, task.session);
  }

  completed(task: RunningTask): EndedTask {
    this.write(tasks.completeTask(TABLE, task, undefined, this.stamp()));
    return this.seen(task.id) as EndedTask;
  }

  seen(id = 'id'): TaskRecord {
    return decodeTask(this.read(taskKey('q', id)));
  }
}

/** A transaction with `update` as its second action; undefined: without it. */
export function beside(rows: Rows, update: Statement<'update'> | undefined): Statement<'transactWrite'> {
  rows.ready({ id: 'first' });
  const first = updateStatement('task.suspend', {
    table: TABLE,
    key: taskKey('q', 'first'),
    guard: '#state = :ready',
    effect: 'SET #nonce = :nonce',
    values: { ':ready': 'ready', ':nonce': rows.stamp().nonce },
  });
  return together(first, update === undefined ? [] : [actionOf(update)], rows.stamp().nonce);
}

/** A condition that stands second in a transaction. */
export function checkedBeside(rows: Rows, check: TransactionCheck): Statement<'transactWrite'> {
  const transaction = beside(rows, undefined);
  return {
    ...transaction,
    input: { ...transaction.input, TransactItems: [...(transaction.input.TransactItems ?? []), check] },
  };
}

export function newTask(more: Partial<NewTask> = {}): NewTask {
  return { queue: 'q', id: 'id', name: 'work', input: null, priority: 'normal', runAt: NOW, ...more };
}
