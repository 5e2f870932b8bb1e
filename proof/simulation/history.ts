/**
 * A history: what happened, in the order of true time, as plain data.
 *
 * The stream is complete enough to judge the protocol without the code that produced it:
 * calls as their callers saw them, requests as they left, rows as the store changed them, and what holders themselves believed.
 * Belief is always asked of the code under test; a harness that computes it again would hide a bug in how it is computed.
 */
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import { rowText } from '../../test/support/row-text.ts';
import type { RequestEnd } from '../../test/support/machines/network.ts';

interface At {
  /** True time, milliseconds. */
  readonly at: number;
  /** Incarnation: unique, never reused. */
  readonly process: string;
}

/** A right as its holder names it. */
export interface RightName {
  /** Key of the row that gives it. */
  readonly row: string;
  /** Lease counter; for a session, which has none, its id does. */
  readonly token: number;
  readonly session: string;
}

/** A write verb of a store port is called. */
export interface Called extends At {
  readonly kind: 'called';
  readonly operation: number;
  readonly verb: string;
  readonly row: string;
  readonly nonce: string;
  /** The right that the caller names, for verbs of a holder. */
  readonly claim?: RightName | undefined;
  /** True time of the reading of the clock that the write states as now; `at` where it states none. */
  readonly anchoredAt: number;
  /** How many elements of a journal its writer has seen. */
  readonly seen?: number | undefined;
  /** Whether an operator who takes something away chose how long it stays closed. */
  readonly asksDelay?: boolean | undefined;
  /** The sending session, for guarded verbs; the session that would get the row, for acquiring verbs. */
  readonly session?: string | undefined;
}

/** The caller's response. `none` and `unknown` both mean "not applied": `none` certainly, `unknown` possibly. */
export interface Returned extends At {
  readonly kind: 'returned';
  readonly operation: number;
  readonly outcome: 'applied' | 'refused' | 'refusedUnsure' | 'canceled' | 'unavailable' | 'unknown';
}

/** One attempt leaves. */
export interface Sent extends At {
  readonly kind: 'sent';
  readonly request: number;
  readonly operation: number | undefined;
  /** True time of the clock reading that an attempt to end a session should state as now. */
  readonly anchoredAt: number | undefined;
  /** Whether the session it is sent for is believed in by its holder at this moment; undefined where no belief is asked for. */
  readonly believed: boolean | undefined;
  /** How the attempt before this one ended for its sender, if the operation, or the read, has been sent before. */
  readonly previous?: RequestEnd | 'pending' | undefined;
  /** When that attempt left; -Infinity if its process was stalled by then. */
  readonly previousAt?: number | undefined;
}

/** The store answered a read, heard or not. */
export interface Read extends At {
  readonly kind: 'read';
  readonly request: number;
  /** As AWS charges: half a unit at least, or one if it is strongly consistent, also where nothing is found. */
  readonly readUnits: number;
  /** The row that was asked for, if by its key. */
  readonly asked?: string | undefined;
  /** Whether it was a query of an index. */
  readonly isPoll?: true;
}

/** The store changed a row. `before` or `after` is undefined if the row does not exist. */
export interface Applied extends At {
  readonly kind: 'applied';
  readonly request: number;
  readonly operation: number | undefined;
  /** The second delivery of a duplicated request. */
  readonly copy: boolean;
  readonly row: string;
  readonly before: DynamoItem | undefined;
  readonly after: DynamoItem | undefined;
  /** The values that the statement compared and wrote; of a put, the item. */
  readonly values?: DynamoItem | undefined;
}

/** The store refused a write by the condition on its first row. `found` is undefined if the row does not exist. */
interface Refused extends At {
  readonly kind: 'refused';
  readonly request: number;
  readonly operation: number | undefined;
  readonly copy: boolean;
  readonly row: string;
  readonly found: DynamoItem | undefined;
  /** The values that the statement compared and would have written. */
  readonly values: DynamoItem;
}

/** TTL removed a row. */
export interface Swept extends At {
  readonly kind: 'swept';
  readonly row: string;
  readonly before: DynamoItem;
}

/** A holder begins, or has ceased, to believe. */
export interface Belief extends At, RightName {
  readonly kind: 'believes' | 'doubts';
}

/** Code acts on a right while its signal says that it may. */
export interface Acted extends At, RightName {
  readonly kind: 'acted';
}

/** Task code begins, or ends well: it returned, or goes to commit. */
export interface Ran extends At, RightName {
  readonly kind: 'began' | 'ended';
}

/** The code of a durable task's step begins, or its runtime has learned that the end of an attempt of it is recorded. */
export interface Stepped extends At, RightName {
  readonly kind: 'stepped' | 'recorded';
  readonly op: string;
}

/** Task code has learned that no part of a commit was applied. */
export interface Denied extends At, RightName {
  readonly kind: 'denied';
}

/** An application learned that its request is done, and may rely on it from here on. */
export interface Acknowledged extends At {
  readonly kind: 'acknowledged';
  readonly what:
    /** Two callers of one id: the response of one of them, and that one requests a cancellation. */
    | ('told' | 'asked')
    /** A condition of the caller refused its new task, and with it the writes of the same transaction. */
    | 'declined'
    /** The answer of a callback, and its sender's response. */
    | 'answered'
    | ('enqueued' | 'progress' | 'committed' | 'added' | 'waited' | 'taken' | 'dispatched')
    /** The name of an object in the user's own bucket. */
    | ('stored' | 'removed');
  readonly row: string;
  /** The acknowledged value, as JSON. */
  readonly value?: string | undefined;
}

/** A fault of a process, and its consequence. For readers; no rule depends on it. */
export interface Happened extends At {
  readonly kind: 'happened';
  readonly what: string;
}

export type HistoryEvent =
  | Called
  | Returned
  | Sent
  | Read
  | Applied
  | Refused
  | Swept
  | Belief
  | Acted
  | Ran
  | Stepped
  | Denied
  | Acknowledged
  | Happened;

/**
 * One number for a whole history, updated event by event: runs with different digests differ.
 * It includes the text of each row that is written.
 */
export class Digest {
  #high = 0x9e3779b9;
  #low = 0x243f6a88;

  add(event: HistoryEvent): void {
    this.#text(event.kind);
    this.#number(event.at);
    this.#text(event.process);
    if (event.kind === 'called') this.#text(event.nonce);
    if (event.kind === 'returned') this.#number(event.operation);
    if (event.kind === 'sent' || event.kind === 'read') this.#number(event.request);
    if ('row' in event && event.kind !== 'called') this.#text(event.row);
    if ('verb' in event) this.#text(event.verb);
    if ('outcome' in event) this.#text(event.outcome);
    if ('token' in event) this.#number(event.token);
    if (event.kind === 'applied') this.#text(event.after === undefined ? '' : rowText(event.after));
    if (event.kind === 'happened') this.#text(event.what);
  }

  toString(): string {
    return [this.#high, this.#low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  }

  #number(value: number): void {
    FLOAT[0] = value;
    this.#word(WORDS[0]!);
    this.#word(WORDS[1]!);
  }

  #text(text: string): void {
    for (let index = 0; index < text.length; index++) this.#word(text.charCodeAt(index));
    this.#word(text.length);
  }

  #word(word: number): void {
    this.#low = Math.imul(this.#low ^ word, 0x85ebca6b);
    this.#low ^= this.#low >>> 15;
    this.#high = Math.imul((this.#high << 5) ^ (this.#high >>> 27) ^ this.#low, 0xc2b2ae35);
  }
}

const FLOAT = new Float64Array(1);
const WORDS = new Uint32Array(FLOAT.buffer);
