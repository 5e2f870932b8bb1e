/**
 * Random histories of one semaphore: processes whose clocks differ, that freeze, thaw and crash, over a store whose answers are lost
 * and whose requests arrive late. The rules are checked against the row after every write, and against belief at every moment.
 */
import { describe, expect, test } from 'vitest';
import { decodeSemaphore } from '../../shared/coordination/semaphore/row/semaphore-codec.ts';
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';
import { semaphoreKey, sessionKey } from '../../shared/dynamo/engine/keys.ts';
import { createSemaphoreStore } from '../../shared/coordination/semaphore/row/dynamo-semaphore-store.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createSessionStore } from '../../shared/session/row/dynamo-session-store.ts';
import { LeaseLostError, StoreUnavailableError } from '../../shared/core/errors.ts';
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../shared/core/lease/timing.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import { SemaphoreClient } from '../../shared/coordination/semaphore/semaphore-client.ts';
import type { Permit } from '../../shared/coordination/semaphore/permit.ts';
import type { SemaphoreRecord } from '../../shared/coordination/semaphore/semaphore.ts';
import { isSamePermit, permitsHeld } from '../../shared/coordination/semaphore/semaphore.ts';
import { SessionHolder } from '../../shared/session/keep-alive.ts';
import { Prng } from '../support/machines/prng.ts';
import { STARTS_AT, simulatedWorld } from '../support/coordination.ts';
import { ManualClock } from '../support/manual-clock.ts';

const HISTORIES = 12;
const PLACES = 6;
const LIMIT = 4;
const LENGTH_MS = 40_000;
const STEP_MS = 20;
const SKEW_MS = 200;
const TIMING = sessionTiming({ ttlMs: 3_000, lockDelayMs: 0, maxClockSkewMs: SKEW_MS });
const NAME = 'slots';

describe('in random histories', () => {
  test.each(Array.from({ length: HISTORIES }, (_, seed) => seed))(
    'the permits never add up to more than the limit, in the store or in belief: seed %d',
    async (seed) => {
      const history = new History(BigInt(seed));

      await history.run();

      expect(history.violations).toEqual([]);
      expect(history.admissions).toBeGreaterThan(20);
    },
  );
});

class History {
  readonly violations: string[] = [];
  admissions = 0;
  readonly prng: Prng;
  readonly #truth: Truth;
  readonly #clock = new ManualClock(STARTS_AT);
  #places: Place[] = [];

  constructor(seed: bigint) {
    this.prng = new Prng(seed);
    const { driver, table } = simulatedWorld();
    this.#truth = new Truth(driver, table, this);
  }

  get now(): number {
    return this.#clock.monotonic();
  }

  async run(): Promise<void> {
    for (let place = 0; place < PLACES; place++) this.#open();
    while (this.now < LENGTH_MS) {
      await this.#clock.advance(STEP_MS);
      await this.#truth.deliverLate();
      for (const place of this.#places) await place.advance(this.now);
      if (this.prng.chance(0.004)) this.#crash();
      this.#checkBelief();
    }
    for (const place of this.#places) place.isOver = true;
  }

  #open(): void {
    this.#places.push(new Place(`place-${this.#places.length}`, this, this.#truth));
  }

  #crash(): void {
    const crashed = this.#places[this.prng.integer(0, this.#places.length - 1)]!;
    if (crashed.isCrashed) return;
    crashed.isCrashed = true;
    this.#open();
  }

  /** No running process may believe in a permit beyond the limit; a frozen one is inactive, and finds itself expired. */
  #checkBelief(): void {
    const believed = this.#places.flatMap((place) => (place.isRunning ? place.believed() : []));
    const sum = believed.reduce((total, { permits }) => total + permits, 0);
    if (sum > LIMIT) this.violations.push(`at ${this.now} ms ${sum} permits are believed in`);
  }
}

/** The store, and its true state. */
class Truth implements DynamoDriver {
  readonly table: string;
  readonly #driver: DynamoDriver;
  readonly #history: History;
  readonly #prng: Prng;
  readonly #late: { readonly at: number; readonly apply: () => Promise<unknown> }[] = [];
  #last: SemaphoreRecord | undefined;
  #lastToken = 0;

  constructor(driver: DynamoDriver, table: string, history: History) {
    this.#driver = driver;
    this.table = table;
    this.#history = history;
    this.#prng = history.prng.fork('network');
  }

  async attempt<K extends DynamoKind>(
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']> {
    if (kind === 'get' || kind === 'batchGet' || kind === 'query') return this.#driver.attempt(kind, input, signal);
    const fate = this.#prng.next();
    if (fate < 0.04) throw new DynamoFault('throttled', { code: 'ThrottlingException', message: 'slow down' });
    if (fate < 0.08) throw unanswered();
    if (fate < 0.12) {
      const at = this.#history.now + this.#prng.exponential(1_500);
      this.#late.push({ at, apply: () => this.#apply(kind, input).catch(() => undefined) });
      throw unanswered();
    }
    if (fate < 0.16) {
      await this.#apply(kind, input).catch(() => undefined);
      throw unanswered();
    }
    return this.#apply(kind, input);
  }

  async deliverLate(): Promise<void> {
    for (const request of this.#late.filter(({ at }) => at <= this.#history.now)) {
      this.#late.splice(this.#late.indexOf(request), 1);
      await request.apply();
    }
  }

  async #apply<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): Promise<DynamoCalls[K]['output']> {
    const output = await this.#driver.attempt(kind, input, NEVER);
    const item = await this.#read(semaphoreKey(NAME));
    if (item !== undefined) await this.#check(decodeSemaphore(item), JSON.stringify(input));
    return output;
  }

  async #check(row: SemaphoreRecord, request: string): Promise<void> {
    const before = this.#last?.holders ?? [];
    this.#last = row;
    const added = row.holders.filter((holder) => !before.some((old) => isSamePermit(old, holder)));
    for (const { token } of added) {
      this.#history.admissions++;
      if (token <= this.#lastToken) this.#violated(`token ${token} follows ${this.#lastToken}`);
      this.#lastToken = token;
    }
    if (permitsHeld(row.holders) > row.limit && added.length > 0)
      this.#violated('a contender was admitted beyond the limit');
    if (request.includes('REMOVE #holders')) return;
    const removed = before.filter((old) => !row.holders.some((holder) => isSamePermit(old, holder)));
    for (const { session } of removed) {
      const isOwn = added.some((holder) => holder.session === session);
      if (!isOwn && (await this.#read(sessionKey(session)))?.status === 'live')
        this.#violated(`the permit of live session ${session} was removed`);
    }
  }

  #violated(rule: string): void {
    this.#history.violations.push(`at ${this.#history.now} ms ${rule}`);
  }

  async #read(key: { readonly pk: string; readonly sk: string }) {
    const { Item } = await this.#driver.attempt('get', { TableName: this.table, Key: { ...key } }, NEVER);
    return Item;
  }
}

class Place {
  isCrashed = false;
  isOver = false;
  readonly #clock: ManualClock;
  readonly #prng: Prng;
  readonly #client: SemaphoreClient;
  readonly #runtime: Runtime;
  readonly #truth: Truth;
  readonly #permits = new Set<Permit>();
  #frozenSince: number | undefined;
  #thawsAt = 0;

  constructor(name: string, history: History, truth: Truth) {
    this.#prng = history.prng.fork(name);
    this.#truth = truth;
    const aheadMs = this.#prng.between(-SKEW_MS / 2, SKEW_MS / 2);
    this.#clock = new ManualClock(new Date(Date.parse(STARTS_AT) + history.now + aheadMs).toISOString());
    const clock = this.#clock;
    this.#runtime = {
      random: this.#prng.fork('random'),
      ids: { unique: () => this.#id(), ordered: () => this.#id() },
      clock: {
        now: () => Math.floor(clock.now()),
        monotonic: () => clock.monotonic(),
        sleep: (ms, signal) => clock.sleep(ms, signal),
        after: (ms, call) => clock.after(ms, call),
      },
    };
    const ports = { runtime: this.#runtime, gauge: noSkewGauge, ...this.#stores() };
    this.#client = new SemaphoreClient(ports, { maxClockSkewMs: SKEW_MS });
    void this.#live();
  }

  get isRunning(): boolean {
    return !this.isCrashed && this.#frozenSince === undefined;
  }

  believed(): Permit[] {
    return [...this.#permits].filter((permit) => permit.remainingTrustMs() > 0);
  }

  async advance(now: number): Promise<void> {
    if (this.isCrashed) return;
    if (this.#frozenSince === undefined && this.#prng.chance(0.002)) {
      this.#frozenSince = now;
      this.#thawsAt = now + this.#prng.exponential(2_500);
    }
    if (this.#frozenSince !== undefined) {
      if (now < this.#thawsAt) return;
      // The wall clock has gone on; the other one has stood still.
      this.#clock.step(now - this.#frozenSince);
      this.#frozenSince = undefined;
    }
    await this.#clock.advance(STEP_MS);
  }

  async #live(): Promise<void> {
    while (!this.isOver) {
      try {
        await this.#liveInOneSession();
      } catch (error) {
        if (!(error instanceof LeaseLostError) && !(error instanceof StoreUnavailableError)) throw error;
        await this.#clock.sleep(100);
      }
    }
  }

  async #liveInOneSession(): Promise<void> {
    const { sessions: store } = this.#stores();
    const options = { timing: TIMING, name: 'test', node: 'here', behaviour: 'release' } as const;
    const session = await SessionHolder.create(options, { store, runtime: this.#runtime, gauge: noSkewGauge });
    try {
      const flows = Array.from({ length: this.#prng.integer(1, 3) }, () => this.#flow(session));
      await Promise.all(flows);
    } finally {
      await session.end();
      this.#permits.clear();
    }
  }

  async #flow(session: SessionHolder): Promise<void> {
    for (let round = this.#prng.integer(1, 8); round > 0; round--) {
      const permits = this.#prng.chance(0.3) ? 2 : 1;
      const patience = { wait: this.#prng.integer(0, 3_000), pause: 200, fair: this.#prng.chance(0.3) };
      const found = this.#prng.chance(0.5)
        ? await this.#client.tryAcquire(session, NAME, { limit: LIMIT, permits })
        : await this.#client.acquire(session, NAME, { limit: LIMIT, permits, ...patience });
      if (found.kind === 'acquired') await this.#use(found.permit);
      await this.#clock.sleep(this.#prng.exponential(150));
    }
  }

  async #use(permit: Permit): Promise<void> {
    this.#permits.add(permit);
    await this.#clock.sleep(this.#prng.exponential(500), permit.signal);
    // Now and then a holder forgets: its permit goes with the session.
    if (this.#prng.chance(0.1)) return;
    try {
      await permit.release();
    } finally {
      this.#permits.delete(permit);
    }
  }

  #stores() {
    const policy = { attemptTimeoutMs: 300, budgetMs: 1_500, backoff: { baseMs: 20, capMs: 200 } };
    const sender = new Sender({ driver: this.#truth, runtime: this.#runtime, policy });
    const { table } = this.#truth;
    return { sessions: createSessionStore(sender, table), semaphores: createSemaphoreStore(sender, table) };
  }

  #id(): string {
    return Array.from({ length: 4 }, () => this.#prng.integer(0, 0xffff).toString(16)).join('-');
  }
}

const NEVER = new AbortController().signal;

function unanswered(): DynamoFault {
  return new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
}
