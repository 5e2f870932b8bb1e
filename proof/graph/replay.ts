/**
 * Replays one path of the model's graph with the shipped statements.
 *
 * A request of a model's worker is built when the worker sends it, from the rows that it has read until then,
 * and reaches the store when it does in the model. After each
 * write the rows are compared with the model's state: the store's verdict, and each attribute that a guard reads.
 * A tick is a second. Each path has its own keys, so all paths share one table.
 */
import { isDeepStrictEqual } from 'node:util';
import type { DynamoDriver, DynamoItem, DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';
import { sessionKey, taskKey } from '../../shared/dynamo/engine/keys.ts';
import type { RowKey } from '../../shared/dynamo/engine/keys.ts';
import type { Statement } from '../../shared/dynamo/engine/statement.ts';
import {
  createSession,
  expireSession,
  invalidateSession,
  renewSession,
} from '../../shared/session/row/session-statements.ts';
import { decodeTask } from '../../shared/tasks/rows/task/task-codec.ts';
import * as tasks from '../../shared/tasks/rows/task/task-statements.ts';
import type { Claim, ReadyTask, RunningTask } from '../../shared/tasks/task/task.ts';
import type { Edge, Graph } from './graph.ts';
import type { RecordValue, Value } from './values.ts';
import { textOf } from './values.ts';

interface Counts {
  writes: number;
  refusals: number;
}

export class Divergence extends Error {}

const TICK_MS = 1_000;
const EPOCH_MS = 1_700_000_000_000;
const QUEUE = 'q';
const NO_REQUEST = '-';

export async function replay(
  graph: Graph,
  path: readonly Edge[],
  options: { readonly driver: DynamoDriver; readonly table: string; readonly name: string; readonly counts: Counts },
): Promise<void> {
  const first = graph.states.get(path[0]?.from ?? '');
  if (first === undefined) return;
  const replayed = new Replay(options);
  await replayed.begin();
  for (const [index, { from, to, label }] of path.entries()) {
    const [before, after] = [graph.states.get(from), graph.states.get(to)];
    if (before === undefined || after === undefined) throw new Error(`the dump has no state for step ${index + 1}`);
    try {
      await replayed.step(label, before, after);
    } catch (error) {
      if (!(error instanceof Divergence)) throw error;
      const labels = path.slice(0, index + 1).map((edge) => edge.label);
      throw new Divergence(`${options.name}, step ${index + 1} (${labels.join(' ')}): ${error.message}`);
    }
  }
}

class Replay {
  readonly #options: Parameters<typeof replay>[2];
  readonly #rows = new Map<string, DynamoItem>();
  /** The current text of each of the model's nonces. */
  readonly #nonces = new Map<string, string>();
  /** By their nonces. */
  readonly #underWay = new Map<string, Statement>();
  #ticks = 0;
  #given = 0;

  constructor(options: Parameters<typeof replay>[2]) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    const { table, name } = this.#options;
    const task = { queue: QUEUE, id: name, name: 'work', input: null, priority: 'normal', runAt: EPOCH_MS } as const;
    await this.#write(
      tasks.enqueueTask(table, task, 1, { now: EPOCH_MS, nonce: this.#named(['-', '-', 0]) }),
      true,
      taskKey(QUEUE, name),
    );
  }

  async step(label: string, before: RecordValue, after: RecordValue): Promise<void> {
    const isAccepted = !isDeepStrictEqual([before.row, before.sess], [after.row, after.sess]);
    if (label === 'Tick') this.#ticks++;
    if (label === 'Create' || label === 'Renew' || label === 'Leave') await this.#atOnce(label, before, after);
    this.#send(before, after);
    if (label === 'Arrive' || label === 'ArriveMute') {
      const request = whatLeft(before, after);
      const statement = this.#underWay.get(textOf(request.n));
      if (statement === undefined) throw new Divergence(`nothing was sent under the nonce ${textOf(request.n)}`);
      await this.#write(statement, isAccepted, this.#keyOf(request));
    }
    if (label !== 'Tick') this.#compare(after);
  }

  /** Sessions are opened, kept alive and left in one step with the store's. */
  async #atOnce(label: string, before: RecordValue, after: RecordValue): Promise<void> {
    const worker = Object.keys(recordOf(after.p)).find(
      (name) => !isDeepStrictEqual(recordOf(before.p)[name], recordOf(after.p)[name]),
    );
    if (worker === undefined) throw new Divergence(`${label} changed no worker`);
    const was = at(before.p, worker);
    const is = at(after.p, worker);
    const session = [worker, Number(label === 'Create' ? is.inc : was.inc)] as const;
    const row = at(after.sess, session.join(','));
    const isAccepted = !isDeepStrictEqual(before.sess, after.sess);
    const now = this.#clockOf(after, worker);
    const id = this.#sessionId(session);
    const { table } = this.#options;
    const lastNonce = this.#nonces.get(textOf(was.ln)) ?? '';
    const nonce = this.#named(label === 'Leave' ? ['left', worker, 0] : row.n);
    const ttlMs = 2 * TICK_MS;
    const statement =
      label === 'Create'
        ? createSession(table, {
            id,
            name: 'worker',
            node: worker,
            ttlMs,
            lockDelayMs: 0,
            behaviour: 'release',
            now,
            nonce,
          })
        : label === 'Renew'
          ? renewSession(table, { id, lastNonce, now, ttlMs, nonce, told: 0 })
          : invalidateSession(table, { id, reason: 'ended', now, nonce });
    await this.#write(statement, isAccepted, sessionKey(id));
  }

  #send(before: RecordValue, after: RecordValue): void {
    for (const [worker, is] of Object.entries(recordOf(after.p))) {
      const request = recordOf(recordOf(is).req);
      if (request.k === NO_REQUEST || isDeepStrictEqual(at(before.p, worker).req, request)) continue;
      // A tick makes it older; it is the same request.
      if (textOf(recordOf(at(before.p, worker).req).n) === textOf(request.n)) continue;
      this.#underWay.set(textOf(request.n), this.#statementOf(worker, request, after));
    }
  }

  #statementOf(worker: string, request: RecordValue, state: RecordValue): Statement {
    const { table, name } = this.#options;
    const now = this.#clockOf(state, worker);
    const stamp = { now, nonce: this.#named(request.n) };
    const session = this.#sessionId(request.s);
    const claim: Claim = { queue: QUEUE, id: name, session, leaseCounter: EPOCH_MS + Number(request.c) };
    const error = { name: 'Error', message: 'failed', at: now };
    const found = decodeTask(this.#found(taskKey(QUEUE, name)));
    switch (request.k) {
      case 'claim':
        return tasks.claimTask(table, found as ReadyTask, session, stamp);
      case 'take':
        return tasks.takeOverTask(table, found as RunningTask, session, stamp);
      case 'bury':
        return tasks.markDead(table, found as RunningTask, error, stamp);
      case 'done':
        return tasks.completeTask(table, claim, undefined, stamp);
      case 'retry':
        return tasks.retryTask(table, claim, { error, readyAt: EPOCH_MS }, stamp);
      case 'release':
        return tasks.releaseTask(table, claim, stamp);
      case 'progress':
        return tasks.saveProgress(table, claim, 'null', { ...stamp, sequence: Number(request.seq) });
      case 'expire': {
        const id = this.#sessionId(request.o);
        const { renewals } = this.#found(sessionKey(id));
        const expiredBefore = EPOCH_MS + (this.#ticks + Number(request.before)) * TICK_MS;
        return expireSession(table, { observed: { id, renewals: Number(renewals) }, expiredBefore, ...stamp });
      }
      default:
        throw new Error(`no statement is known for ${textOf(request.k)}`);
    }
  }

  #keyOf(request: RecordValue): RowKey {
    return request.k === 'expire' ? sessionKey(this.#sessionId(request.o)) : taskKey(QUEUE, this.#options.name);
  }

  async #write({ kind, input }: Statement, isAccepted: boolean, key: RowKey): Promise<void> {
    const { driver, table, counts } = this.#options;
    const signal = new AbortController().signal;
    let wasAccepted = true;
    try {
      await driver.attempt<DynamoKind>(kind, input, signal);
    } catch (error) {
      if (!(error instanceof DynamoFault) || error.kind !== 'conditionFailed') throw error;
      wasAccepted = false;
    }
    counts[wasAccepted ? 'writes' : 'refusals']++;
    if (wasAccepted !== isAccepted)
      throw new Divergence(`the store ${wasAccepted ? 'took' : 'refused'} what the model does not`);
    const { Item } = await driver.attempt('get', { TableName: table, Key: { ...key }, ConsistentRead: true }, signal);
    if (Item !== undefined) this.#rows.set(JSON.stringify(key), Item);
  }

  #compare(state: RecordValue): void {
    const item = this.#found(taskKey(QUEUE, this.#options.name));
    const row = recordOf(state.row);
    const isRunning = row.st === 'running';
    this.#expect('the task', item, {
      state: row.st,
      leaseCounter: EPOCH_MS + Number(row.ctr),
      attempts: row.att,
      nonce: this.#nonceOf(row.n),
      ...(isRunning ? { session: this.#sessionId(row.ses), sequence: row.seq } : {}),
    });
    for (const [name, value] of Object.entries(recordOf(state.sess))) {
      const session = recordOf(value);
      if (session.st === 'absent') continue;
      const id = this.#sessionId(name.split(','));
      const isLive = session.st === 'live';
      const expiresAt = EPOCH_MS + (this.#ticks + Number(session.exp)) * TICK_MS;
      const found = this.#found(sessionKey(id));
      this.#expect(`session ${name}`, found, {
        status: session.st,
        ...(isLive ? { nonce: this.#nonceOf(session.n) } : { reason: session.why }),
        // An expiry of long ago is the oldest that the model tells apart.
        ...(isLive && Number(session.exp) > OLDEST ? { expiresAt } : {}),
      });
    }
  }

  #expect(what: string, item: DynamoItem, wanted: Readonly<Record<string, unknown>>): void {
    for (const [attribute, value] of Object.entries(wanted)) {
      if (item[attribute] === value) continue;
      const shown = `${attribute} ${JSON.stringify(item[attribute])}, and the model ${JSON.stringify(value)}`;
      throw new Divergence(`${what} has ${shown}`);
    }
  }

  #found(key: RowKey): DynamoItem {
    const item = this.#rows.get(JSON.stringify(key));
    if (item === undefined) throw new Divergence(`there is no row ${key.pk}`);
    return item;
  }

  #named(nonce: Value | undefined): string {
    const name = `${this.#options.name}-${++this.#given}`;
    this.#nonces.set(textOf(nonce), name);
    return name;
  }

  #nonceOf(nonce: Value | undefined): string | undefined {
    return this.#nonces.get(textOf(nonce));
  }

  #sessionId(session: Value | undefined): string {
    return `${this.#options.name}-${textOf(session).replace(',', '-')}`;
  }

  /** A worker's wall clock in milliseconds. */
  #clockOf(state: RecordValue, worker: string): number {
    return EPOCH_MS + (this.#ticks + Number(recordOf(state.off)[worker])) * TICK_MS;
  }
}

/** An expiry at or before this is past by every clock, and saturates there: `Past` of `Holder.tla`, with clocks that differ by a tick. */
const OLDEST = -2;

/** The request that arrived: one copy of it is gone from the network. */
function whatLeft(before: RecordValue, after: RecordValue): RecordValue {
  const copiesOf = (state: RecordValue, n: string): number =>
    messages(state).reduce((sum, { r, copies }) => sum + (textOf(recordOf(r).n) === n ? Number(copies) : 0), 0);
  const left = messages(before).find(({ r }) => {
    const n = textOf(recordOf(r).n);
    return copiesOf(after, n) < copiesOf(before, n);
  });
  if (left === undefined) throw new Divergence('no request has left the network');
  return recordOf(left.r);
}

function messages({ net }: RecordValue): readonly RecordValue[] {
  return (net as readonly Value[]).map(recordOf);
}

function recordOf(value: Value | undefined): RecordValue {
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error(`${textOf(value)} is no record`);
  return value as RecordValue;
}

function at(value: Value | undefined, name: string): RecordValue {
  return recordOf(recordOf(value)[name]);
}
