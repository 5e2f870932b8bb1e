/** Writes the history: watches ports, requests and rows, and asks holders what they believe when that matters. */
import { readUnitsOf } from '../../shared/dynamo/engine/meter.ts';
import { isDeepStrictEqual } from 'node:util';
import type { DynamoFault, DynamoItem, DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import type { SessionHolder } from '../../shared/session/keep-alive.ts';
import type { Request, RequestEnd } from '../../test/support/machines/network.ts';
import type { SimulatedProcess } from '../../test/support/machines/process.ts';
import type { Timeline } from '../../test/support/machines/timeline.ts';
import type { Called, HistoryEvent, Returned, RightName } from './history.ts';
import { Digest } from './history.ts';
import { isSemaphore } from './invariants/rule.ts';
import { holdersOf } from './invariants/semaphores.ts';
import type { Row } from './rows.ts';
import { isPoll, rowReadBy, rowsWrittenBy } from './rows.ts';
import type { Write } from './stamps.ts';
import { checksFirst, nonceOf } from './stamps.ts';

/** A right that some code currently believes it has. */
interface Believer extends RightName {
  readonly process: SimulatedProcess;
  /** As the code under test says it when asked; without side effects. */
  readonly isBelieved: () => boolean;
}

/** A call of a write verb. */
export type Call = Pick<Called, 'verb' | 'row' | 'nonce' | 'claim' | 'session' | 'seen'> & {
  /** The wall time that the write states. */
  readonly now?: number;
  /** False: it names a right that is another's, or no one's any more; no belief is asked for. */
  readonly isHolders?: boolean;
};

type Attempt = { readonly request: number; readonly sentAt: number; ended: RequestEnd | 'pending' };

interface RecorderPorts {
  readonly timeline: Timeline;
  /** The store's current row: a different object after each write. */
  readRow(row: Row): DynamoItem | undefined;
  /** Sees every event at once. */
  onEvent(event: HistoryEvent): void;
}

export class Recorder {
  readonly #ports: RecorderPorts;
  readonly #digest = new Digest();
  readonly #operationByNonce = new Map<string, Pick<Call, 'row' | 'session'> & { readonly number: number }>();
  readonly #holders = new Map<string, { readonly process: SimulatedProcess; readonly holder: SessionHolder }>();
  readonly #believers = new Set<Believer>();
  /** Believers by the rows that their belief depends on: the row itself, and their session's row. */
  readonly #hanging = new Map<string, Set<Believer>>();
  readonly #doubters = new Map<SimulatedProcess, Set<Believer>>();
  /** The store's rows in the history's form. */
  readonly #rows = new Map<string, DynamoItem>();
  /** The last attempt of each write, by its operation and first row, and of each read, by its input, which all its attempts share. */
  readonly #writeAttempts = new Map<string, Attempt>();
  readonly #readAttempts = new WeakMap<object, Attempt>();
  /** Processes that take something away at once: see `hastily`. */
  readonly #hasty = new Set<SimulatedProcess>();
  /** Operations that end a session and have sent an attempt. */
  readonly #ending = new Set<number>();
  /** Rows and tokens of the permits that the second delivery of a request took. */
  readonly takenByCopies = new Set<string>();
  #operations = 0;
  readonly counts = { sent: 0, written: 0, called: 0 };

  constructor(ports: RecorderPorts) {
    this.#ports = ports;
  }

  get digest(): string {
    return this.#digest.toString();
  }

  get rows(): ReadonlyMap<string, DynamoItem> {
    return this.#rows;
  }

  emit(event: HistoryEvent): void {
    this.#digest.add(event);
    this.#ports.onEvent(event);
  }

  happened(process: string, what: string): void {
    this.emit({ kind: 'happened', at: this.#ports.timeline.now, process, what });
  }

  /** Records a call of a write verb and how it ends. */
  async write<T>(
    process: SimulatedProcess,
    call: Call,
    send: () => Promise<T>,
    outcomeOf: (result: T) => Returned['outcome'],
    outcomeOfError: (error: unknown) => Returned['outcome'],
  ): Promise<T> {
    const operation = this.#operations++;
    this.counts.called++;
    this.#operationByNonce.set(call.nonce, {
      number: operation,
      row: call.row,
      session: call.isHolders === false ? undefined : (call.session ?? call.claim?.session),
    });
    const { now, isHolders: _, ...named } = call;
    const anchoredAt = (now === undefined ? undefined : process.wall.trueTimeOf(now)) ?? process.now;
    const asksDelay = this.#hasty.has(process) || undefined;
    this.emit({ kind: 'called', at: process.now, process: process.name, operation, anchoredAt, asksDelay, ...named });
    const ends = (outcome: Returned['outcome']): void => {
      if (process.isAlive) this.emit({ kind: 'returned', at: process.now, process: process.name, operation, outcome });
    };
    try {
      const result = await send();
      ends(outcomeOf(result));
      return result;
    } catch (error) {
      ends(outcomeOfError(error));
      throw error;
    } finally {
      this.#askDoubters(process);
    }
  }

  /** Calls an operation with an explicit lock-delay, so its key may open before its holder has stopped. */
  async hastily<T>(process: SimulatedProcess, call: () => Promise<T>): Promise<T> {
    this.#hasty.add(process);
    try {
      return await call();
    } finally {
      this.#hasty.delete(process);
    }
  }

  /** A request leaves. */
  sent(request: Request): void {
    this.counts.sent++;
    this.#askDoubters(request.process);
    const operation = this.#operationOf(request);
    const previous = this.#attempts(request, operation?.number);
    const session = operation?.session;
    const asked = session === undefined ? undefined : this.#holders.get(session);
    // Only its own holder can vouch for a session. And no process can help being stalled between the check and the act.
    const isAsked = asked?.process === request.process && !asked.process.isStalled;
    const believed = isAsked ? isBelieved(asked.process, asked.holder) : undefined;
    const { name } = request.process;
    this.emit({
      kind: 'sent',
      at: request.sentAt,
      process: name,
      request: request.number,
      operation: operation?.number,
      anchoredAt: this.#anchorOf(request, operation?.number),
      believed,
      previous: previous?.ended,
      previousAt: previous?.sentAt,
    });
  }

  /** The sender of a request has learned how it ended. */
  ended(request: Request, ended: RequestEnd): void {
    const attempt = this.#lastAttempt(request, this.#operationOf(request)?.number);
    if (attempt?.request === request.number) attempt.ended = ended;
  }

  /** @returns the attempt before this one */
  #attempts(request: Request, operation: number | undefined): Attempt | undefined {
    // A user's own write: the user may send it again.
    if (operation === undefined && isWrite(request.kind)) return undefined;
    const previous = this.#lastAttempt(request, operation);
    // The timeout of a process that is stalled counts from before the stall.
    const sentAt = request.process.isStalled ? -Infinity : request.sentAt;
    const attempt: Attempt = { request: request.number, sentAt, ended: 'pending' };
    if (operation === undefined) this.#readAttempts.set(request.input, attempt);
    else this.#writeAttempts.set(writeName(request, operation), attempt);
    return previous;
  }

  #lastAttempt(request: Request, operation: number | undefined): Attempt | undefined {
    if (operation === undefined) return this.#readAttempts.get(request.input);
    return this.#writeAttempts.get(writeName(request, operation));
  }

  #read({ process, number, kind, input }: Request, output: unknown): void {
    if (typeof output !== 'object' || output === null) return;
    const readUnits = readUnitsOf({ kind, input }, output);
    const at = this.#ports.timeline.now;
    this.emit({
      kind: 'read',
      at,
      process: process.name,
      request: number,
      readUnits,
      asked: rowReadBy(input),
      ...(isPoll(input) ? { isPoll: true } : {}),
    });
  }

  /** The store has answered a request. */
  answered(
    request: Request,
    result: { readonly output?: unknown; readonly fault?: DynamoFault | undefined },
    copy: boolean,
  ): void {
    if (!isWrite(request.kind)) {
      this.#read(request, result.output);
      return;
    }
    const operation = this.#operationOf(request)?.number;
    if (result.fault !== undefined) {
      this.#refused(request, result.fault, operation, copy);
      return;
    }
    const isTransaction = request.kind === 'transactWrite';
    for (const row of rowsWrittenBy(request.kind, request.input)) {
      const stored = this.#ports.readRow(row);
      // A bar is in the place of a task, and nobody sees it.
      const after = stored?.barred === undefined ? stored : undefined;
      const before = this.#rows.get(row.name);
      // A transaction whose token has been seen is answered as before, and changes nothing.
      if (before === after || (isTransaction && isDeepStrictEqual(before, after))) continue;
      this.#askBelievers(row.name);
      if (after === undefined) this.#rows.delete(row.name);
      else this.#rows.set(row.name, after);
      if (copy && isSemaphore(row.name)) this.#tookByCopy(row.name, before, after);
      this.counts.written++;
      const { now } = this.#ports.timeline;
      const { name } = request.process;
      // Several operations may share a transaction: each has a separate row, with its nonce.
      const own = this.#operationByNonce.get(String(row.values?.[':nonce']));
      this.emit({
        kind: 'applied',
        at: now,
        process: name,
        request: request.number,
        operation: own?.row === row.name ? own.number : operation,
        copy,
        row: row.name,
        before,
        after,
        values: row.values,
      });
    }
  }

  #tookByCopy(row: string, before: DynamoItem | undefined, after: DynamoItem | undefined): void {
    const were = new Set(holdersOf(before).map(({ token }) => token));
    for (const { token } of holdersOf(after)) if (!were.has(token)) this.takenByCopies.add(`${row} ${token}`);
  }

  #refused(request: Request, { kind, reasons }: DynamoFault, operation: number | undefined, copy: boolean): void {
    const isByCondition = kind === 'conditionFailed' || reasons[0]?.code === 'ConditionalCheckFailed';
    const [row] = rowsWrittenBy(request.kind, request.input);
    // In some transactions a check of another row comes first: its refusal is not a write.
    if (!isByCondition || row?.values === undefined || checksFirst(request)) return;
    const { name: process } = request.process;
    const found = this.#rows.get(row.name);
    const { values, name } = row;
    this.emit({
      kind: 'refused',
      at: this.#ports.timeline.now,
      process,
      request: request.number,
      operation,
      copy,
      row: name,
      found,
      values,
    });
  }

  swept(row: string): void {
    const before = this.#rows.get(row);
    if (before === undefined) return;
    this.#rows.delete(row);
    this.emit({ kind: 'swept', at: this.#ports.timeline.now, process: 'ttl', row, before });
  }

  /** A person has changed a row by hand, in nothing that a rule judges. */
  changedByHand(row: string, item: DynamoItem): void {
    this.#rows.set(row, item);
    this.happened('person', `changed ${row}`);
  }

  /** A session's holder exists from here on, and can be asked. */
  holds(process: SimulatedProcess, holder: SessionHolder): void {
    this.#holders.set(holder.id, { process, holder });
    const right: RightName = { row: sessionRow(holder.id), token: 0, session: holder.id };
    this.believes(process, right, () => isBelieved(process, holder));
  }

  /** Code begins to believe in a right. Returns what ends it. */
  believes(process: SimulatedProcess, right: RightName, isStillBelieved: () => boolean): () => void {
    // The others first: their belief may have ended by the clock, unseen.
    this.#askBelievers(right.row);
    const { row, token, session } = right;
    // Code may be started on a right that is lost already, and told so.
    if (!process.quietly(isStillBelieved)) return () => undefined;
    const believer: Believer = { row, token, session, process, isBelieved: isStillBelieved };
    this.#takeIn(believer);
    this.emit({ kind: 'believes', at: process.now, process: process.name, row, token, session });
    return () => this.#forget(believer);
  }

  /** Code gives a right back, and no longer relies on it. */
  gaveBack(process: SimulatedProcess, { row, token }: RightName): void {
    for (const believer of this.#believers)
      if (believer.process === process && believer.row === row && believer.token === token) this.#forget(believer);
  }

  acted(process: SimulatedProcess, { row, token, session }: RightName): void {
    if (process.isAlive) this.emit({ kind: 'acted', at: process.now, process: process.name, row, token, session });
  }

  /** Ends beliefs whose process is gone, or whose code has ended. */
  died(process: SimulatedProcess): void {
    for (const believer of this.#believers) if (believer.process === process) this.#doubts(believer);
    this.#doubters.delete(process);
  }

  /** Asks everybody: to be called at the end. */
  askAll(): void {
    for (const believer of this.#believers) this.#ask(believer);
  }

  get believers(): readonly RightName[] {
    return [...this.#believers];
  }

  /** Rechecks the believers of a row: of the row itself, or of its session. */
  #askBelievers(row: string): void {
    for (const believer of this.#hanging.get(row) ?? []) this.#ask(believer);
  }

  /** Belief that has ended must not come back: doubters are asked again whenever their process acts. */
  #askDoubters(process: SimulatedProcess): void {
    for (const doubter of this.#doubters.get(process) ?? []) {
      if (!process.isAlive || !process.quietly(doubter.isBelieved)) continue;
      this.#doubters.get(process)?.delete(doubter);
      this.#takeIn(doubter);
      const { row, token, session } = doubter;
      this.emit({ kind: 'believes', at: process.now, process: process.name, row, token, session });
    }
  }

  #ask(believer: Believer): void {
    if (!believer.process.isAlive || !believer.process.quietly(believer.isBelieved)) this.#doubts(believer);
  }

  #takeIn(believer: Believer): void {
    this.#believers.add(believer);
    for (const row of [believer.row, sessionRow(believer.session)])
      this.#hanging.set(row, (this.#hanging.get(row) ?? new Set()).add(believer));
  }

  /** It is over, and will not be asked again. */
  #forget(believer: Believer): void {
    this.#doubts(believer);
    this.#doubters.get(believer.process)?.delete(believer);
  }

  #doubts(believer: Believer): void {
    if (!this.#believers.delete(believer)) return;
    const { process, row, token, session } = believer;
    for (const hung of [row, sessionRow(session)]) this.#hanging.get(hung)?.delete(believer);
    this.#doubters.set(process, (this.#doubters.get(process) ?? new Set()).add(believer));
    this.emit({ kind: 'doubts', at: process.now, process: process.name, row, token, session });
  }

  /**
   * For the first attempt to end a session this is its stated reading;
   * for a later one its sending time, because it must be stamped again. A process
   * that was stalled in between could not do so.
   */
  #anchorOf({ process, input, sentAt }: Request, operation: number | undefined): number | undefined {
    const { ':invalid': ends, ':now': now } = (input as Write).ExpressionAttributeValues ?? {};
    if (ends === undefined || operation === undefined) return undefined;
    const isFirst = !this.#ending.has(operation);
    this.#ending.add(operation);
    return isFirst || process.isStalled ? process.wall.trueTimeOf(Number(now)) : sentAt;
  }

  #operationOf(request: Request) {
    const nonce = nonceOf(request);
    return nonce === undefined ? undefined : this.#operationByNonce.get(nonce);
  }
}

export function sessionRow(id: string): string {
  return `session#${id}`;
}

/** An operation may write several rows, one after the other: a task's input, then the task. */
function writeName({ kind, input }: Request, operation: number): string {
  return `${operation} ${rowsWrittenBy(kind, input)[0]?.name ?? ''}`;
}

function isBelieved(process: SimulatedProcess, holder: SessionHolder): boolean {
  return process.quietly(() => holder.remainingTrustMs() > 0);
}

function isWrite(kind: DynamoKind): boolean {
  return kind === 'put' || kind === 'update' || kind === 'delete' || kind === 'transactWrite';
}
