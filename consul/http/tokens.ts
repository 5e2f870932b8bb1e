/**
 * Access rules, by token.
 *
 *   { "tokens": [
 *     { "name": "billing", "secret": "…", "keys": { "": "read", "billing/": "write" }, "sessions": "write" },
 *     { "name": "anyone", "keys": { "public/": "read" } } ] }
 *
 * The longest prefix that matches a key decides. A key without a matching rule is denied.
 * The entry without a secret applies to requests without a token. We compare the digests of all secrets, in constant time.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { notJson } from '../../shared/core/json.ts';
import { Problem, denied } from './problem.ts';

const LEVELS = ['deny', 'read', 'write'] as const;
type Level = (typeof LEVELS)[number];

export interface TokenRules {
  readonly name: string;
  readonly secret?: string | undefined;
  /** Level by key prefix. */
  readonly keys: Readonly<Record<string, Level>>;
  /** Sessions: read, create, renew and destroy them. */
  readonly sessions: Level;
  /** Nodes and checks. */
  readonly nodes: Level;
}

/** The rights of one request's caller. */
export class Rights {
  readonly #areas: Pick<TokenRules, 'sessions' | 'nodes'>;
  /** The longest prefix first. */
  readonly #prefixes: readonly (readonly [string, Level])[];

  constructor({ keys, ...areas }: Pick<TokenRules, 'keys' | 'sessions' | 'nodes'>) {
    this.#areas = areas;
    this.#prefixes = Object.entries(keys).sort(([one], [other]) => other.length - one.length);
  }

  mayKey(level: 'read' | 'write', key: string): boolean {
    return isEnough(this.#prefixes.find(([prefix]) => key.startsWith(prefix))?.[1] ?? 'deny', level);
  }

  /** Whether there is any key that it may read. */
  mayAnyKey(): boolean {
    return this.#prefixes.some(([, level]) => level !== 'deny');
  }

  /** Names the readable keys with a prefix. Empty name: all of them. undefined: none. */
  readableBelow(prefix: string): string | undefined {
    const below = this.#prefixes.filter(([ruled]) => ruled.startsWith(prefix));
    const isOwn = this.mayKey('read', prefix);
    const may = [isOwn, ...below.map(([, level]) => level !== 'deny')];
    if (!may.includes(true)) return undefined;
    return may.includes(false) ? JSON.stringify([isOwn, below]) : '';
  }

  /** @throws Problem 403 */
  ensure(area: 'sessions' | 'nodes', level: 'read' | 'write'): void {
    if (!isEnough(this.#areas[area], level)) throw denied();
  }

  /** @throws Problem 403 */
  ensureKey(level: 'read' | 'write', key: string): void {
    if (!this.mayKey(level, key)) throw denied();
  }

  /**
   * Every key that begins with the prefix, whether it exists or not: one rule below that forbids writing is enough to refuse.
   */
  mayWriteTree(prefix: string): boolean {
    // A rule below the prefix decides for keys below it; otherwise the rule for the prefix itself does.
    const below = this.#prefixes.filter(([ruled]) => ruled.startsWith(prefix));
    return this.mayKey('write', prefix) && below.every(([, level]) => isEnough(level, 'write'));
  }
}

const EVERYTHING = new Rights({ keys: { '': 'write' }, sessions: 'write', nodes: 'write' });
const NOTHING = new Rights({ keys: {}, sessions: 'deny', nodes: 'deny' });

export class TokenBook {
  readonly #entries: readonly { readonly digest: Buffer; readonly rights: Rights }[];
  /** No caller is asked for a token. */
  readonly #isOpen: boolean;
  /** The rights of requests without a token. */
  readonly #anonymous: Rights;

  /** @param rules absent: no tokens are asked for, and everybody may do everything */
  constructor(rules: readonly TokenRules[] | undefined) {
    this.#entries = (rules ?? []).flatMap((rule) =>
      rule.secret === undefined ? [] : [{ digest: digestOf(rule.secret), rights: new Rights(rule) }],
    );
    const anonymous = rules?.find(({ secret }) => secret === undefined);
    this.#isOpen = rules === undefined;
    if (this.#isOpen) this.#anonymous = EVERYTHING;
    else this.#anonymous = anonymous === undefined ? NOTHING : new Rights(anonymous);
  }

  /** @throws Problem 403 */
  rightsOf(token: string | undefined): Rights {
    // If no token is required, Consul ignores any that a client sends.
    if (this.#isOpen || token === undefined) return this.#anonymous;
    const digest = digestOf(token);
    let found: Rights | undefined;
    for (const entry of this.#entries) if (timingSafeEqual(entry.digest, digest)) found = entry.rights;
    if (found === undefined) throw new Problem(403, 'ACL not found');
    return found;
  }
}

/** @throws ConfigurationError saying which entry is wrong */
export function parseTokens(text: string, source: string): readonly TokenRules[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    // Without the cause, whose message repeats some of the secrets.
    throw new ConfigurationError(`${source} is ${notJson(cause)}`);
  }
  const { tokens } = (typeof parsed === 'object' && parsed !== null ? parsed : {}) as { readonly tokens?: unknown };
  if (!Array.isArray(tokens) || tokens.length === 0)
    throw new ConfigurationError(`${source} has no tokens: pass { "tokens": [ … ] } with at least one`);
  const rules = tokens.map((entry, at) => ruleOf(entry, `${source}: token ${at + 1}`));
  const secrets = rules.map(({ secret }) => secret);
  if (new Set(secrets).size < secrets.length)
    throw new ConfigurationError(`${source}: two tokens have one secret, or none: use a different one for each`);
  return rules;
}

const FIELDS = ['name', 'secret', 'keys', 'sessions', 'nodes'];
/** Reject short or guessable tokens. */
const MIN_SECRET_LENGTH = 16;

function ruleOf(entry: unknown, where: string): TokenRules {
  if (typeof entry !== 'object' || entry === null) throw new ConfigurationError(`${where} is not an object`);
  const unknown = Object.keys(entry).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined)
    throw new ConfigurationError(`${where}: unknown field ${JSON.stringify(unknown)}: known are ${FIELDS.join(', ')}`);
  const { name, secret, keys = {}, sessions = 'deny', nodes = 'deny' } = entry as Record<string, unknown>;
  if (typeof name !== 'string' || name === '') throw new ConfigurationError(`${where} has no name`);
  const isSecret = secret === undefined || (typeof secret === 'string' && secret.length >= MIN_SECRET_LENGTH);
  if (!isSecret)
    throw new ConfigurationError(`${where} (${name}): its secret has fewer than ${MIN_SECRET_LENGTH} characters`);
  if (typeof keys !== 'object' || keys === null || Array.isArray(keys))
    throw new ConfigurationError(`${where} (${name}): keys is not an object of prefixes and levels`);
  const level = (what: string, given: unknown): Level => {
    const found = LEVELS.find((one) => one === given);
    if (found === undefined)
      throw new ConfigurationError(
        `${where} (${name}): ${what} is ${JSON.stringify(given)}: must be ${LEVELS.join(', ')}`,
      );
    return found;
  };
  return {
    name,
    secret,
    keys: Object.fromEntries(Object.entries(keys).map(([prefix, given]) => [prefix, level(`key ${prefix}`, given)])),
    sessions: level('sessions', sessions),
    nodes: level('nodes', nodes),
  };
}

function isEnough(given: Level, wanted: 'read' | 'write'): boolean {
  return given === 'write' || given === wanted;
}

function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
