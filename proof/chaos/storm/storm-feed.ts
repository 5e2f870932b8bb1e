/** The enqueues during the storm, each repeated until acknowledged, and an operator who cancels, retries and reschedules. */
import { StoreUnavailableError } from '../../../shared/core/errors.ts';
import type { Leasehold } from '../../../shared/client/leasehold.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import type { Prng } from '../../../test/support/machines/prng.ts';
import * as tasks from './storm-tasks.ts';

const KINDS = [
  'plain',
  'plain',
  'step',
  'fragile',
  'parent',
  'parent',
  'batch',
  'batch',
  'index',
  'index',
  'nap',
] as const;
const DOCUMENTS = 3;
const LINES = 3;

export class StormFeed {
  readonly #leasehold: Leasehold;
  readonly #prng: Prng;
  /** Ids whose effect must exist once. */
  readonly once: string[] = [];
  /** By batch: its children. */
  readonly batches = new Map<string, number>();
  readonly parents: string[] = [];
  /** By document: the last version that was acknowledged. */
  readonly versions = new Map<string, number>();
  readonly lines = new Map<string, string[]>();
  #count = 0;

  constructor(leasehold: Leasehold, prng: Prng) {
    this.#leasehold = leasehold;
    this.#prng = prng;
  }

  async askOnce(): Promise<void> {
    const kind = this.#prng.pick(KINDS);
    const id = `${kind}-${++this.#count}`;
    await insist(() => this.#ask(kind, id));
    if (kind === 'index') return;
    this.once.push(...(kind === 'batch' ? [] : [id]));
    if (kind === 'parent') {
      this.parents.push(id);
      this.once.push(`${id}/c1`, `${id}/c2`, `${id}/c3`);
    }
  }

  /** All of these tasks end well: cancelled and dead ones are retried at the end. */
  async operate(): Promise<void> {
    const { operator } = this.#leasehold;
    const waiting = [...this.parents, ...[...this.batches.keys()].map((batch) => `${batch}-published`)];
    const all = [...this.once.filter((id) => !id.startsWith('step')), ...waiting];
    if (all.length === 0) return;
    const recent = all.slice(-30);
    const id = this.#prng.pick(this.#prng.chance(0.4) && waiting.length > 0 ? waiting.slice(-10) : recent);
    await insist(async () => {
      const way = this.#prng.next();
      if (way < 0.4) await operator.cancel(id);
      else if (way < 0.7) await operator.retry(id);
      else if (way < 0.9) await operator.reschedule(id, { delay: '0s' });
      else await operator.retryAll({ limit: 10 });
    });
  }

  async #ask(kind: (typeof KINDS)[number], id: string): Promise<void> {
    const client = this.#leasehold.tasks;
    switch (kind) {
      case 'plain':
        await client.enqueue(tasks.plain, null, { id, ...(this.#prng.chance(0.3) ? { key: 'k', limit: 2 } : {}) });
        return;
      case 'fragile':
        await client.enqueue(tasks.fragile, null, { id });
        return;
      case 'nap':
        await client.enqueue(tasks.nap, null, { id });
        return;
      case 'parent':
        await client.enqueue(tasks.parent, null, { id });
        return;
      case 'step': {
        const line = `l${this.#count % LINES}`;
        await client.enqueue(tasks.step, { line }, { id, key: line, ordered: true });
        this.lines.set(line, [...(this.lines.get(line) ?? []), id]);
        return;
      }
      case 'batch': {
        const children = Array.from({ length: 2 + (this.#count % 5) }, (_, child) =>
          child % 2 === 0 ? spawn(tasks.plain, null) : spawn(tasks.fragile, null),
        );
        const then = spawn(tasks.publish, { batch: id }, { id: `${id}-published` });
        const ask = () => client.enqueueBatch(children, { id, then });
        await (this.#prng.chance(0.15) ? Promise.all([ask(), ask()]) : ask());
        this.batches.set(id, children.length);
        return;
      }
      case 'index': {
        const document = `doc-${this.#count % DOCUMENTS}`;
        const version = this.#count;
        const isDebounced = this.#prng.chance(0.3);
        const how = isDebounced
          ? ({ onDuplicate: 'debounce', delay: '400ms' } as const)
          : ({ onDuplicate: 'replace' } as const);
        await client.enqueue(tasks.index, { version }, { id: document, ...how });
        this.versions.set(document, version);
      }
    }
  }
}

async function insist(ask: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }
}
