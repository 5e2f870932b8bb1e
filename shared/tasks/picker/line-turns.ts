/**
 * What one worker knows of the turns of lines. A turn only grows, so a turn that was read has come, however old the read is.
 * A line is read again only if its first ticket seems to be above the turn: at once if the first entry has changed, else in growing gaps.
 */
import { StoreUnavailableError } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { LinePlace } from '../task/line.ts';
import type { GroupEntry, TaskStore } from '../task/task-store.ts';
import type { CancelledTask, TaskKey } from '../task/task.ts';
import { FRESH_MS, FULL_KEY, PAGE_MAX_AGE_MS } from './tuning.ts';

interface KnownLine {
  turn: number;
  /** When the turn was first known. Monotonic. */
  sinceMs: number;
  readAtMs: number;
  /** The ticket of the first entry at the last look. */
  first: number | undefined;
  /** By ticket, as of the last look. */
  members: ReadonlyMap<number, TaskKey>;
  usedAtMs: number;
}

export interface LinePorts {
  readonly tasks: Pick<TaskStore, 'getTurns' | 'passTurn'>;
  readonly runtime: Runtime;
  readonly onDamaged: (error: unknown) => void;
  /** Called after the turn of a cancelled task was passed here. */
  readonly onPassed?: (() => void) | undefined;
}

export class LineTurns {
  readonly #queue: string;
  readonly #clock: Clock;
  readonly #ports: LinePorts;
  readonly #lines = new Map<string, KnownLine>();

  constructor(queue: string, ports: LinePorts) {
    this.#queue = queue;
    this.#clock = ports.runtime.clock;
    this.#ports = ports;
  }

  /** Whether the turn of a task has come, as far as is known. */
  hasTurn(place: LinePlace | undefined): boolean {
    return place === undefined || place.ticket <= (this.#lines.get(place.key)?.turn ?? 0);
  }

  /** Returns the turn of a line; undefined if it should be read, because this ticket may have it. */
  turnOf({ key, ticket }: LinePlace): number | undefined {
    const known = this.#lines.get(key);
    if (known === undefined || ticket <= known.turn) return known?.turn;
    const now = this.#clock.monotonic();
    const gapMs = Math.min(FULL_KEY.most, Math.max(FRESH_MS, (now - known.sinceMs) / FULL_KEY.standing));
    return now < known.readAtMs + gapMs ? known.turn : undefined;
  }

  /** Reads the turns of these tickets' lines, unless they are known. */
  async read(places: readonly LinePlace[]): Promise<void> {
    const keys = [...new Set(places.filter((place) => this.turnOf(place) === undefined).map(({ key }) => key))];
    if (keys.length === 0) return;
    const { tasks, onDamaged } = this.#ports;
    const turns = await tasks.getTurns(this.#queue, keys, { onDamaged });
    for (const key of keys) this.#know(key, turns.get(key) ?? 0);
  }

  /** Reads the turn of a line of which a task has ended here. It may not have been passed: the task may have got other work. */
  async readNow({ key }: LinePlace): Promise<void> {
    const { tasks, onDamaged } = this.#ports;
    const turns = await tasks.getTurns(this.#queue, [key], { isConsistent: true, onDamaged });
    this.#know(key, turns.get(key) ?? 0);
  }

  /**
   * Passes the turns of tasks that were cancelled before their turn, if it has come. Best effort: a task that remains is met again.
   * @returns the next tasks of their lines, as far as they are known
   */
  async passEach(cancelled: readonly CancelledTask[]): Promise<readonly TaskKey[]> {
    const { tasks, runtime, onPassed } = this.#ports;
    const over = cancelled.filter(({ links }) => this.hasTurn(links?.line));
    const passes = await Promise.allSettled(over.map((task) => tasks.passTurn(task, stampOf(runtime))));
    const next: TaskKey[] = [];
    for (const [at, pass] of passes.entries()) {
      if (pass.status === 'rejected' && !(pass.reason instanceof StoreUnavailableError)) throw pass.reason;
      const place = over[at]?.links?.line;
      if (pass.status === 'rejected' || pass.value.kind !== 'applied' || place === undefined) continue;
      const behind = this.nextOf(place);
      this.#know(place.key, place.ticket + 1);
      if (behind !== undefined) next.push(behind);
      onPassed?.();
    }
    return next;
  }

  /** Notes the entries of a page. */
  see(entries: readonly GroupEntry[]): void {
    for (const [key, ofLine] of Map.groupBy(entries, ({ hint }) => hint.line?.key)) {
      if (key === undefined) continue;
      const line = this.#line(key);
      const first = ofLine[0]?.hint.line?.ticket;
      if (first !== line.first) line.readAtMs = Number.NEGATIVE_INFINITY;
      line.first = first;
      line.members = new Map(ofLine.map(({ hint: { queue, id, line: place } }) => [place?.ticket ?? 0, { queue, id }]));
    }
  }

  /** Returns the task behind a ticket, if known. */
  nextOf(place: LinePlace | undefined): TaskKey | undefined {
    return place && this.#lines.get(place.key)?.members.get(place.ticket + 1);
  }

  forget(): void {
    const before = this.#clock.monotonic() - 2 * PAGE_MAX_AGE_MS;
    for (const [key, { usedAtMs }] of this.#lines) if (usedAtMs < before) this.#lines.delete(key);
  }

  #know(key: string, turn: number): void {
    const line = this.#line(key);
    line.readAtMs = this.#clock.monotonic();
    if (turn <= line.turn) return;
    line.turn = turn;
    line.sinceMs = line.readAtMs;
  }

  #line(key: string): KnownLine {
    const now = this.#clock.monotonic();
    const readAtMs = Number.NEGATIVE_INFINITY;
    const known = this.#lines.get(key);
    const line = known ?? { turn: 0, sinceMs: now, readAtMs, first: undefined, members: NOBODY, usedAtMs: now };
    line.usedAtMs = now;
    this.#lines.set(key, line);
    return line;
  }
}

const NOBODY: ReadonlyMap<number, TaskKey> = new Map();
