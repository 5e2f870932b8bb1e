/** Nodes and health checks: register, report and deregister them, and end the sessions that are bound to them. */
import { utf8Bytes } from '../../shared/core/runtime/bytes.ts';
import { ConfigurationError, shown } from '../../shared/core/errors.ts';
import type { Duration } from '../../shared/core/validate/duration.ts';
import { givenMs } from '../../shared/core/validate/duration.ts';
import { validName, validOptions } from '../../shared/core/validate/options.ts';
import { ensureUnwritten, stampOf } from '../../shared/core/lease/write.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import { contended, retryContended } from '../../shared/core/wait/retry-contended.ts';
import type { CheckStore } from './check-store.ts';
import type { CheckKey, CheckRecord, CheckStatus } from './health.ts';
import { CHECK_STATUSES, NODE_CHECK } from './health.ts';
import { checksOf } from './bound-checks.ts';
import type { SessionClient } from '../../shared/session/session-client.ts';
import type { SessionStore } from '../../shared/session/session-store.ts';

export interface CheckOptions {
  /** How long a report is valid. Default: until the next report. */
  readonly ttl?: Duration | undefined;
  readonly note?: string | undefined;
  /** The first report. Default: passing. */
  readonly status?: Exclude<CheckStatus, 'deregistered'> | undefined;
}

interface HealthPorts {
  readonly checks: CheckStore;
  readonly sessions: SessionStore;
  readonly sessionClient: SessionClient;
  readonly runtime: Runtime;
}

/** Node and check form one sort key of the listing, which has at most 1,024 bytes. */
const ID_LIMIT_BYTES = 256;
const NOTE_LIMIT_BYTES = 1_024;
const CHECK_OPTIONS = ['ttl', 'note', 'status'] as const;
const REPORTED: readonly CheckStatus[] = CHECK_STATUSES.filter((status) => status !== 'deregistered');

/** Nodes and their health checks: register, report, deregister. A check that fails ends the sessions that are bound to it. */
export class HealthClient {
  readonly #ports: HealthPorts;

  constructor(ports: HealthPorts) {
    this.#ports = ports;
  }

  /** A node is a check with the name `node`. Registering it again is harmless. */
  registerNode(node: string, options: CheckOptions = {}): Promise<Check> {
    return this.register(node, NODE_CHECK, options);
  }

  /**
   * Registers a check with a first report, or registers it again. Registering a critical check does not end sessions, because the sessions
   * that are bound to it poll it.
   */
  async register(node: string, id: string, options: CheckOptions = {}): Promise<Check> {
    const key = { node: validName('node', node), id: validId(id) };
    const {
      ttl,
      note = '',
      status = 'passing',
    } = validOptions(`the options of ${describe(key)}`, options, CHECK_OPTIONS);
    if (!REPORTED.includes(status))
      throw new ConfigurationError(
        `${describe(key)}: status = ${shown(status)}: must be one of ${REPORTED.join(', ')}`,
      );
    const ttlMs = givenMs('ttl of a check', ttl) ?? null;
    if (ttlMs === 0)
      throw new ConfigurationError(`check ${id} of node ${node}: ttl = 0: it would fail at once, use a longer time`);
    const { checks, runtime } = this.#ports;
    const check = { ...key, status, note: validNote(note), ttlMs };
    let observed: CheckRecord | undefined;
    return retryContended(describe(key), runtime, async () => {
      const outcome = await checks.register(observed, check, stampOf(runtime));
      if (outcome.kind === 'applied') return new Check(outcome.row, this.#ports);
      ensureUnwritten(describe(key), outcome);
      observed = outcome.current;
      return contended(outcome);
    });
  }

  /** Returns a registered check, to report on or to read. */
  async check(node: string, id: string): Promise<Check | undefined> {
    const record = await this.#ports.checks.get({ node: validName('node', node), id: validId(id) });
    return record === undefined || record.status === 'deregistered' ? undefined : new Check(record, this.#ports);
  }

  /** Returns the registered checks of one node or of all nodes. The listing is eventually consistent. */
  async *list(node?: string): AsyncGenerator<CheckRecord> {
    let after: unknown;
    do {
      const { keys, next } = await this.#ports.checks.page(node === undefined ? node : validName('node', node), after);
      for (const key of keys) {
        const record = await this.#ports.checks.get(key);
        if (record !== undefined && record.status !== 'deregistered') yield record;
      }
      after = next;
    } while (after !== undefined);
  }

  /** Deregisters a node with all its checks, and ends the sessions bound to one of the checks. @returns the number of ended sessions */
  async deregisterNode(node: string): Promise<number> {
    const ids: string[] = [];
    for await (const record of this.list(node)) {
      await new Check(record, this.#ports).markDeregistered();
      ids.push(record.id);
    }
    return endSessionsBoundTo(
      ids.map((id) => ({ node, id })),
      this.#ports,
    );
  }
}

/** The reporter's handle of one check: one write unit per report. */
export class Check {
  readonly node: string;
  readonly id: string;
  readonly #ports: HealthPorts;
  #record: CheckRecord;

  constructor(record: CheckRecord, ports: HealthPorts) {
    this.node = record.node;
    this.id = record.id;
    this.#record = record;
    this.#ports = ports;
  }

  /** The check as this process last wrote or read it. */
  get record(): CheckRecord {
    return this.#record;
  }

  async pass(note = ''): Promise<void> {
    await this.#report('passing', note);
  }

  /** Reports a warning, which does not end sessions. */
  async warn(note: string): Promise<void> {
    await this.#report('warning', note);
  }

  /** Reports failure, and ends the sessions that are bound to this check. @returns how many ended */
  async fail(note: string): Promise<number> {
    await this.#report('critical', note);
    return endSessionsBoundTo([this], this.#ports);
  }

  /** Ends the check, and the sessions that are bound to it. @returns how many ended */
  async deregister(): Promise<number> {
    await this.markDeregistered();
    return endSessionsBoundTo([this], this.#ports);
  }

  /** The first half of `deregister`. A check that is no longer registered needs no mark. */
  async markDeregistered(): Promise<void> {
    const { checks, runtime } = this.#ports;
    await retryContended(describe(this), runtime, async () => {
      if (this.#record.status === 'deregistered') return undefined;
      const outcome = await checks.deregister(this.#record, stampOf(runtime));
      const found = outcome.kind === 'applied' ? outcome.row : outcome.current;
      this.#record = found ?? { ...this.#record, status: 'deregistered' };
      if (outcome.kind === 'applied') return undefined;
      if (this.#record.status !== 'deregistered') ensureUnwritten(describe(this), outcome);
      return contended(outcome);
    });
  }

  /** Starts from the latest write, by us or by another reporter, because the latest report counts. */
  async #report(status: CheckStatus, text: string): Promise<void> {
    const { checks, runtime } = this.#ports;
    const what = describe(this);
    const note = validNote(text);
    await retryContended(what, runtime, async () => {
      if (this.#record.status === 'deregistered')
        throw new ConfigurationError(`${what} is no longer registered: register it again before reporting on it`);
      const outcome = await checks.report(this.#record, { status, note }, stampOf(runtime));
      if (outcome.kind === 'refused' && outcome.current === undefined)
        throw new ConfigurationError(`${what} was deregistered long ago: register it again before reporting on it`);
      this.#record = outcome.kind === 'applied' ? outcome.row : (outcome.current ?? this.#record);
      return outcome.kind === 'applied' ? undefined : contended(outcome);
    });
  }
}

function describe({ node, id }: CheckKey): string {
  return `check ${id} of node ${node}`;
}

/**
 * Reads all sessions once, which is acceptable for a rare event.
 * A session that the listing does not show yet also ends,
 * because every gateway that reads it reads its checks.
 */
async function endSessionsBoundTo(
  keys: readonly CheckKey[],
  { sessions, sessionClient, runtime }: HealthPorts,
): Promise<number> {
  let ended = 0;
  for await (const session of sessionClient.list()) {
    const isBound = keys.some(({ node, id }) => session.node === node && checksOf(session).includes(id));
    if (session.status !== 'live' || !isBound) continue;
    const outcome = await sessions.invalidate({ id: session.id, reason: 'destroyed', ...stampOf(runtime) });
    if (outcome.kind === 'applied') ended++;
  }
  return ended;
}

function validId(id: string): string {
  const name = validName('check id', id);
  if (utf8Bytes(name) > ID_LIMIT_BYTES)
    throw new ConfigurationError(`check id ${name.slice(0, 40)}… is longer than ${ID_LIMIT_BYTES} bytes`);
  return name;
}

function validNote(note: string): string {
  if (typeof note !== 'string' || !note.isWellFormed() || utf8Bytes(note) > NOTE_LIMIT_BYTES)
    throw new ConfigurationError(`the note of a check is not well-formed text of at most ${NOTE_LIMIT_BYTES} bytes`);
  return note;
}
