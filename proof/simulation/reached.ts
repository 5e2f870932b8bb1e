/** Reads a history's coverage from its events: every outcome of every write verb, and internal turns that no caller sees. */
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { Applied, HistoryEvent } from './history.ts';
import { TASK_KEYS } from './invariants/families.ts';
import { isTask } from './invariants/rule.ts';

interface KeyRule {
  readonly limit: number;
  readonly rate?: { readonly count: number };
}

export class Reached {
  readonly #seen: (what: string) => void;
  readonly #verbs = new Map<number, string>();

  constructor(seen: (what: string) => void) {
    this.#seen = seen;
  }

  on(event: HistoryEvent): void {
    if (event.kind === 'called') this.#verbs.set(event.operation, event.verb);
    else if (event.kind === 'returned') {
      this.#seen(`${this.#verbs.get(event.operation)}: ${event.outcome}`);
      this.#verbs.delete(event.operation);
    } else if (event.kind === 'applied') this.#onApplied(event);
  }

  #onApplied({ row, before, after }: Applied): void {
    if (row.startsWith('payload#') && after === undefined) this.#seen('payload removed');
    if (row.startsWith('key#')) this.#onKey(row, after);
    if (row.startsWith('line#') && after !== undefined) this.#onLine(before, after);
    if (!isTask(row) || after === undefined) return;
    if (before === undefined) {
      if (row.endsWith('/then')) this.#seen('batch: callback created');
      if (/\+v\d+$/.test(row)) this.#seen('task spawned');
      return;
    }
    if (before.state === 'ready' && after.state === 'cancelled' && after.ttl === undefined)
      this.#seen('line: cancelled before its turn');
    if (before.state === 'cancelled' && before.ttl === undefined && after.ttl !== undefined)
      this.#seen('line: turn passed by another');
    if (before.state === 'ready' && after.state === 'ready' && !isInGroup(before) && isInGroup(after))
      this.#seen('key: task moved to the others');
    if (before.state === 'running' && after.state === 'ready' && isInGroup(before) && !isInGroup(after))
      this.#seen('key: task left the others, to be tried later');
    if (before.children !== undefined && before.state === 'ready' && Number(after.readyAt) < Number(before.readyAt))
      this.#seen('parent woken');
    if (after.state === 'running' && before.state !== 'running' && after.tenant !== undefined)
      this.#seen('tenant: task claimed');
  }

  #onLine(before: Applied['before'], after: DynamoItem): void {
    if (Number(before?.tail) < Number(after.tail) && Number(after.turn) < Number(after.tail))
      this.#seen('line: joined behind others');
    if (Number(before?.turn) < Number(after.turn) && Number(after.turn) <= Number(after.tail))
      this.#seen('line: passed to the next');
  }

  #onKey(row: string, after: Applied['after']): void {
    const rule: KeyRule | undefined = TASK_KEYS.find(({ key }) => row.endsWith(`#${key}`));
    if (after?.running === rule?.limit) this.#seen('key: all places taken');
    if (rule?.rate !== undefined && after?.started === rule.rate.count) this.#seen('key: rate used up');
  }
}

/** Whether it stands with the other due tasks of its key: the third part of its name is a hash of the key. */
function isInGroup({ directoryName }: NonNullable<Applied['after']>): boolean {
  return typeof directoryName === 'string' && (directoryName.split('#')[2] ?? '') !== '';
}
