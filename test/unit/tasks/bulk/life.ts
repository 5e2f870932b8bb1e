/** A bulk whose items end in every possible way, and its required final state, whatever faults occurred. */
import { DoNotRetry } from '../../../../shared/tasks/task/control.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import type { TaskDefinition } from '../../../../shared/tasks/task/definition.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { UserWrite } from '../../../../shared/tasks/task/task-store.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { QUEUE } from '../../../support/memory-queue.ts';
import { Mortal } from '../../../support/mortal.ts';

/** The deeds of the items, in the order of their positions. */
export const DEEDS = [
  'returns',
  'commits',
  'returns',
  'sleeps',
  'fails',
  'commits',
  'snoozes',
  'refuses',
  'sleeps',
  'commits',
] as const;
type Deed = (typeof DEEDS)[number];

interface Living {
  readonly n: number;
  readonly deed: Deed;
}

/** More than a flush interval. */
const LONG_MS = 700;

export class Life {
  /** Positions of the items that were begun, in order. */
  readonly begun: number[] = [];
  readonly #queue: MemoryQueue;
  process = new Mortal();

  constructor(queue: MemoryQueue) {
    this.#queue = queue;
  }

  /** As the process of the moment runs it. */
  readonly task = this.taskAt(() => this.process);

  /** The task, as a process runs it. */
  taskAt(process: () => Mortal): TaskDefinition<Living> {
    return defineTask({
      name: 'life',
      retry: { maxAttempts: 40, backoff: 100 },
      run: (input: Living, task) => this.#live(input, task, process()),
    });
  }

  async enqueue(): Promise<void> {
    const inputs = DEEDS.map((deed, n) => ({ n, deed }));
    await this.#queue.client.enqueueBulk(this.task, inputs, { id: 'life', packSize: DEEDS.length });
  }

  /** How each item ended, and how often it took effect. */
  async outcome(): Promise<{ readonly state: string | undefined; readonly effects: number }[]> {
    return Promise.all(
      DEEDS.map(async (_, n) => {
        const item = await this.#queue.client.getItem(`life/0/${n}`);
        const row = await this.#queue.read({ pk: effectKey(n), sk: 'effect' });
        return { state: item?.state, effects: Number(row?.count ?? 0) };
      }),
    );
  }

  /** Whether the ready index has been left. */
  async isDrained(): Promise<boolean> {
    const now = this.#queue.clock.now() + 86_400_000;
    const { hints } = await this.#queue.tasks.page({ queue: QUEUE, priority: 'normal', shard: 0 }, { now, limit: 50 });
    return hints.length === 0;
  }

  async recorded(): Promise<readonly number[]> {
    const pack = await this.#queue.tasks.get({ queue: QUEUE, id: 'life/0' });
    return [...(pack?.bulk?.done ?? [])];
  }

  async #live({ n, deed }: Living, task: TaskContext, process: Mortal): Promise<unknown> {
    await process.step(() => Promise.resolve(this.begun.push(n)));
    const result = await this.#do(deed, n, task);
    await process.step(() => Promise.resolve());
    return result;
  }

  async #do(deed: Deed, n: number, task: TaskContext): Promise<unknown> {
    switch (deed) {
      case 'returns':
        return n;
      case 'sleeps':
        return this.#queue.clock.sleep(LONG_MS);
      case 'commits':
        return task.commit(undefined, [increment(this.#queue.table, n)]);
      case 'fails':
        if (this.begun.filter((begun) => begun === n).length === 1) throw new Error('stumbled');
        return n;
      case 'snoozes':
        return this.begun.filter((begun) => begun === n).length === 1 ? task.snooze(1_000) : n;
      case 'refuses':
        throw new DoNotRetry('never');
    }
  }
}

/** The required final value of `Life.outcome`. */
export const FULFILLED = DEEDS.map((deed) => ({
  state: deed === 'refuses' ? 'dead' : 'done',
  effects: deed === 'commits' ? 1 : 0,
}));

function effectKey(n: number): string {
  return `effect#${n}`;
}

function increment(table: string, n: number): UserWrite {
  return {
    Update: {
      TableName: table,
      Key: { pk: effectKey(n), sk: 'effect' },
      UpdateExpression: 'ADD #count :one',
      ExpressionAttributeNames: { '#count': 'count' },
      ExpressionAttributeValues: { ':one': 1 },
    },
  };
}
