/**
 * The connections to one place: so many at most, the one that was used last is used first, and who finds none waits in line.
 *
 * A request is bound to a connection from the moment on that one is opened for it, for it is then that its time runs.
 */
import type { HttpPlace } from './connection.ts';
import { Connection } from './connection.ts';

/** What needs a connection, once. */
export interface Passenger {
  /** Whether it has given up. */
  readonly isOver: boolean;
  /** @returns false when it has nothing to send after all */
  board(connection: Connection): boolean;
  /** There was no connection to be had. */
  broke(error: Error): void;
}

/** As many as the SDK opens: a connection for each of hundreds of calls in flight would be refused by the service or a proxy. */
const MAX_CONNECTIONS = 50;

export class Connections {
  readonly #place: HttpPlace;
  /** The one that was used last is last. */
  readonly #idle: Connection[] = [];
  readonly #opening = new Map<Connection, Passenger>();
  readonly #waiting = new Set<Passenger>();
  #count = 0;
  #session: Buffer | undefined;

  constructor(place: HttpPlace) {
    this.#place = place;
  }

  enter(passenger: Passenger): void {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop())
      if (idle.wake()) {
        this.#board(idle, passenger);
        return;
      }
    if (this.#count < MAX_CONNECTIONS) this.#open(passenger);
    else this.#waiting.add(passenger);
  }

  /** The passenger has given up before it was on board. */
  leave(passenger: Passenger): void {
    this.#waiting.delete(passenger);
    for (const [connection, other] of this.#opening) if (other === passenger) connection.destroy();
  }

  /** Closes the connections that nothing waits on. */
  close(): void {
    for (const idle of this.#idle.splice(0)) idle.destroy();
  }

  #open(passenger: Passenger): void {
    this.#count++;
    const connection = new Connection(this.#place, this.#session, {
      connected: (opened) => {
        this.#opening.delete(opened);
        this.#board(opened, passenger);
      },
      freed: (freed) => {
        this.#passOn(freed);
      },
      closed: (closed, error) => {
        this.#forget(closed, error);
      },
      session: (session) => {
        this.#session = session;
      },
    });
    this.#opening.set(connection, passenger);
  }

  #board(connection: Connection, passenger: Passenger): void {
    if (passenger.isOver || !passenger.board(connection)) this.#passOn(connection);
  }

  #passOn(connection: Connection): void {
    const next = this.#next();
    if (next !== undefined) {
      this.#board(connection, next);
      return;
    }
    connection.rest();
    this.#idle.push(connection);
  }

  #forget(connection: Connection, error: Error | undefined): void {
    this.#count--;
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    // What was agreed with a server that breaks off is not offered to it again.
    if (error !== undefined) this.#session = undefined;
    const passenger = this.#opening.get(connection);
    this.#opening.delete(connection);
    const next = this.#next();
    if (next !== undefined) this.#open(next);
    passenger?.broke(error ?? new Error('the connection was closed before it stood'));
  }

  #next(): Passenger | undefined {
    const [next] = this.#waiting;
    if (next !== undefined) this.#waiting.delete(next);
    return next;
  }
}
