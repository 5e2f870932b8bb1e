/**
 * `DeadReader` sorts the dead tasks of a queue by name and fault, for an operator who decides what to retry.
 *
 * A task's fault is in its row, so each row is read once: half a read unit or more. A poll reads a few new rows
 * and continues the list from the previous poll, so an open page reaches the end at the pace of all other polls.
 * A retried task disappears after the next complete walk through the list.
 */
import { faultOf } from '../../../shared/tasks/queue/fault.ts';
import type { DeadHint } from '../../../shared/tasks/task/task-operator-store.ts';
import type { ConsoleConnection, Stores } from '../connection.ts';
import type { DeadGroup, DeadPage, TaskLine } from '../../model.ts';
import type { Priced } from '../shared-reads.ts';
import type { KnownNames } from './known-names.ts';
import { lineOf } from './task-line.ts';

interface DeadQuery {
  readonly queue: string;
  /** Only tasks whose name, or whose id, begins like this. */
  readonly name: string;
  readonly id: string;
  /** Only this fault, with more of its tasks. */
  readonly fault: string | undefined;
  /** Reads all that is left, whatever it costs. */
  readonly isWhole: boolean;
}

/** A page of the list has a hundred entries and costs up to three units. */
const LIST_UNITS = 20;
const ROW_UNITS = 20;
const ROWS_PER_BATCH = 20;
/** A row of four kilobytes or less. */
const UNITS_PER_ROW = 0.5;
const TASKS_SHOWN = 20;
const TASKS_SHOWN_ALONE = 500;
/** About fifty megabytes. */
const TASKS_LIMIT = 100_000;
const QUEUES_LIMIT = 8;

interface Entry {
  readonly diedAt: number;
  /** Undefined until its row has been read. */
  readonly sorted: { readonly line: TaskLine; readonly fault: string } | undefined;
}

/** The state of one queue. */
class Ward {
  readonly entries = new Map<string, Entry>();
  /** Cursor of the walk; undefined at the beginning. */
  after: unknown;
  /** Entries of this walk: the others have left the list when it is complete. */
  readonly met = new Set<string>();
  isComplete = false;
}

export class DeadReader {
  readonly #connection: ConsoleConnection;
  readonly #names: KnownNames;
  readonly #wards = new Map<string, Ward>();

  constructor(connection: ConsoleConnection, names: KnownNames) {
    this.#connection = connection;
    this.#names = names;
  }

  /** After an action, the next poll starts the list again. */
  restart(queue: string): void {
    this.#wards.delete(queue);
  }

  async read(query: DeadQuery): Promise<Priced<DeadPage>> {
    const stores = this.#connection.open();
    const ward = this.#wardOf(query.queue);
    await this.#walk(stores, ward, query);
    await this.#readRows(stores, ward, query);
    const now = this.#connection.now();
    const entries = [...ward.entries.values()];
    const read = entries.filter(({ sorted }) => sorted !== undefined).length;
    const value: DeadPage = {
      now,
      queue: query.queue,
      groups: groupsOf(entries, query),
      listed: { count: entries.length, isMore: !ward.isComplete },
      read,
      unitsLeft: Math.ceil((entries.length - read) * UNITS_PER_ROW),
    };
    return { value, units: stores.spent() };
  }

  #wardOf(queue: string): Ward {
    const ward = this.#wards.get(queue) ?? new Ward();
    this.#wards.delete(queue);
    this.#wards.set(queue, ward);
    const [oldest] = this.#wards.keys();
    if (this.#wards.size > QUEUES_LIMIT && oldest !== undefined) this.#wards.delete(oldest);
    return ward;
  }

  async #walk({ operatorStore, spent }: Stores, ward: Ward, { queue, isWhole }: DeadQuery): Promise<void> {
    do {
      const { keys, next } = await operatorStore.pageOfDead(queue, ward.after);
      for (const key of keys) note(ward, key);
      ward.after = next;
      if (next === undefined) {
        for (const id of ward.entries.keys()) if (!ward.met.has(id)) ward.entries.delete(id);
        ward.met.clear();
        ward.isComplete = true;
        return;
      }
    } while ((isWhole || spent() < LIST_UNITS) && ward.entries.size < TASKS_LIMIT);
  }

  /** The latest first, because these matter most. */
  async #readRows({ tasks, spent }: Stores, ward: Ward, { queue, isWhole }: DeadQuery): Promise<void> {
    const before = spent();
    const unread = [...ward.entries]
      .filter(([, { sorted }]) => sorted === undefined)
      .sort(([, one], [, other]) => other.diedAt - one.diedAt)
      .map(([id]) => ({ queue, id }));
    for (let from = 0; from < unread.length; from += ROWS_PER_BATCH) {
      if (!isWhole && spent() - before >= ROW_UNITS) return;
      const rows = await tasks.getMany(unread.slice(from, from + ROWS_PER_BATCH));
      this.#names.note(rows);
      const dead = new Map(rows.flatMap((row) => (row.state === 'dead' ? [[row.id, row] as const] : [])));
      for (const { id } of unread.slice(from, from + ROWS_PER_BATCH)) {
        const row = dead.get(id);
        if (row === undefined) ward.entries.delete(id);
        else
          ward.entries.set(id, {
            diedAt: row.finishedAt,
            sorted: { line: lineOf(row, row.finishedAt), fault: faultOf(row) },
          });
      }
    }
  }
}

/** One that died again since it was read is read again. */
function note(ward: Ward, { id, diedAt }: DeadHint): void {
  ward.met.add(id);
  const known = ward.entries.get(id);
  if (known === undefined || known.diedAt !== diedAt) ward.entries.set(id, { diedAt, sorted: undefined });
}

function groupsOf(entries: readonly Entry[], { name, id, fault }: DeadQuery): readonly DeadGroup[] {
  const groups = new Map<string, GroupLines>();
  for (const { sorted } of entries) {
    if (sorted === undefined || !sorted.line.name.startsWith(name) || !sorted.line.id.startsWith(id)) continue;
    if (fault !== undefined && sorted.fault !== fault) continue;
    const key = JSON.stringify([sorted.line.name, sorted.fault]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { fault: sorted.fault, lines: [sorted.line] });
    else group.lines.push(sorted.line);
  }
  return [...groups.values()]
    .map((group) => groupOf(group, fault === undefined ? TASKS_SHOWN : TASKS_SHOWN_ALONE))
    .sort((one, other) => other.count - one.count || other.lastAt - one.lastAt);
}

interface GroupLines {
  readonly fault: string;
  readonly lines: [TaskLine, ...TaskLine[]];
}

function groupOf({ fault, lines }: GroupLines, shown: number): DeadGroup {
  const [{ name }] = lines;
  const diedAt = ({ finishedAt = 0 }: TaskLine): number => finishedAt;
  const latest = lines.toSorted((one, other) => diedAt(other) - diedAt(one));
  const times = latest.map(diedAt);
  const tasks = latest.slice(0, shown);
  return { name, fault, tasks, count: lines.length, firstAt: times.at(-1) ?? 0, lastAt: times[0] ?? 0 };
}
