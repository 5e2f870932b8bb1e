/** `/v1/txn`: the key-value verbs of a transaction, as one transaction of the library. */
import { validName } from '../shared/lease/name.ts';
import type { DraftEntry } from '../shared/lock/draft.ts';
import { VALUE_LIMIT_BYTES } from '../shared/lock/lock.ts';
import type { KeyOperation, OperationFailure } from '../shared/lock/transaction.ts';
import { Body } from './body.ts';
import type { Endpoint } from './exchange.ts';
import { contentFor } from './kv.ts';
import { Problem, badRequest, tooLarge } from './problem.ts';
import { keyPair } from './shapes.ts';
import type { Rights } from './tokens.ts';

/** Consul's bound. */
const MAX_OPERATIONS = 64;
/** Values of all operations, in base64. */
const BODY_LIMIT_BYTES = 4 * 1024 * 1024;
const PARSE_FAILED = 'Failed to parse body';

interface Step {
  readonly verb: string;
  readonly operation: KeyOperation;
}

interface TransactionError {
  readonly OpIndex: number;
  readonly What: string;
}

export const runTransaction: Endpoint = async (exchange) => {
  const steps = stepsOf(await exchange.json(PARSE_FAILED, BODY_LIMIT_BYTES));
  const denials = steps.flatMap(({ operation }, at) => (isAllowed(operation, exchange.rights) ? [] : [at]));
  if (denials.length > 0) return answer({ errors: denials.map((at) => ({ OpIndex: at, What: 'Permission denied' })) });

  const { leasehold } = exchange.gateway;
  const outcome = await leasehold.remote.transactions.run(steps.map(({ operation }) => operation));
  if (outcome.kind === 'tooMany')
    throw tooLarge(`Transaction touches too many keys and sessions (${outcome.keys} > 100)`);
  if (outcome.kind === 'refused') {
    const failures = new Map(outcome.failures.map(({ at, failure }) => [at, failure]));
    const errors = steps.flatMap((step, at) => {
      const failure = failures.get(at);
      return failure === undefined ? [] : [{ OpIndex: at, What: textOf(step, failure) }];
    });
    return answer({ errors });
  }
  const results = steps.flatMap((step, at) => resultsOf(step, outcome.results[at] ?? [], exchange.rights));
  return answer({ results });
};

/** @throws Problem */
function stepsOf(json: unknown): readonly Step[] {
  if (!Array.isArray(json)) throw badRequest(`${PARSE_FAILED}: expected a list of operations`);
  if (json.length > MAX_OPERATIONS)
    throw tooLarge(`Transaction contains too many operations (${json.length} > ${MAX_OPERATIONS})`);
  return json.map((entry) => {
    const fields = new Body(entry, PARSE_FAILED).object('KV');
    if (fields === undefined) throw badRequest(`${PARSE_FAILED}: only KV operations are known here`);
    return { verb: fields.text('Verb'), operation: operationOf(fields) };
  });
}

/** Verbs that need a key alone, by their names here. */
const PLAIN = { get: 'get', 'get-or-empty': 'find', delete: 'delete', 'check-not-exists': 'checkAbsent' } as const;

function operationOf(fields: Body): KeyOperation {
  const verb = fields.text('Verb');
  const prefix = fields.text('Key');
  if (verb === 'get-tree') return { verb: 'list', prefix };
  if (verb === 'delete-tree') return { verb: 'deleteAll', prefix };
  if (prefix === '') throw badRequest(`${PARSE_FAILED}: Must provide key`);
  const key = validName('key', prefix);
  if (Object.hasOwn(PLAIN, verb)) return { verb: PLAIN[verb as keyof typeof PLAIN], key };
  const index = Number(wholeOf(fields, 'Index'));
  const session = fields.text('Session');
  switch (verb) {
    case 'set':
      return { verb, key, content: contentOf(fields, key) };
    case 'cas':
      return { verb: 'setIf', key, content: contentOf(fields, key), index };
    case 'lock':
    case 'unlock':
      if (session === '') throw new Problem(500, 'missing session');
      return { verb: verb === 'lock' ? 'acquire' : 'release', key, content: contentOf(fields, key), session };
    case 'delete-cas':
      return { verb: 'deleteIf', key, index };
    case 'check-index':
      return { verb: 'checkIndex', key, index };
    case 'check-session':
      return { verb: 'checkSession', key, session };
    default:
      throw badRequest(`${PARSE_FAILED}: unknown KV verb ${JSON.stringify(verb)}`);
  }
}

function contentOf(fields: Body, key: string) {
  const text = fields.text('Value');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0)
    throw badRequest(`${PARSE_FAILED}: failed to decode value: illegal base64 data`);
  const bytes = Buffer.from(text, 'base64');
  if (bytes.byteLength > VALUE_LIMIT_BYTES)
    throw tooLarge(
      `Value for key ${JSON.stringify(key)} is too large (${bytes.byteLength} > ${VALUE_LIMIT_BYTES} bytes)`,
    );
  return contentFor(key, bytes, wholeOf(fields, 'Flags'));
}

function wholeOf(fields: Body, name: string): bigint {
  const value = fields.raw(name) ?? 0;
  const isWhole = typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value));
  if (!isWhole || value < 0 || BigInt(value) >= 2n ** 64n) throw fields.wrong(name, 'a whole number of 64 bits');
  return BigInt(value);
}

function isAllowed(operation: KeyOperation, rights: Rights): boolean {
  switch (operation.verb) {
    // What may not be read is left out of the results.
    case 'list':
    case 'get':
    case 'find':
      return true;
    case 'checkIndex':
    case 'checkSession':
    case 'checkAbsent':
      return rights.mayKey('read', operation.key);
    case 'deleteAll':
      return rights.mayKey('write', operation.prefix);
    default:
      return rights.mayKey('write', operation.key);
  }
}

/** Reading verbs answer with values, the others without. */
function resultsOf({ verb, operation }: Step, entries: readonly DraftEntry[], rights: Rights): readonly unknown[] {
  const isReading = ['get', 'get-or-empty', 'get-tree'].includes(verb);
  if (verb === 'get-or-empty' && entries.length === 0 && 'key' in operation && rights.mayKey('read', operation.key))
    return [{ KV: keyPair(emptyEntry(operation.key), { withValue: false }) }];
  return entries
    .filter(({ key }) => !isReading || rights.mayKey('read', key))
    .map((entry) => ({ KV: keyPair(entry, { withValue: isReading }) }));
}

function emptyEntry(key: string): DraftEntry {
  const none = { value: undefined, encoding: 'text', session: undefined } as const;
  return { key, ...none, flags: 0, lockIndex: 0, createIndex: 0, modifyIndex: 0 };
}

function textOf({ verb, operation }: Step, failure: OperationFailure): string {
  const key = JSON.stringify('key' in operation ? operation.key : operation.prefix);
  const session = 'session' in operation ? JSON.stringify(operation.session) : '';
  switch (failure.kind) {
    case 'stale':
      return `failed to ${verb.startsWith('delete') ? 'delete' : 'set'} key ${key}, index is stale`;
    case 'held':
      return `failed to lock key ${key}, lock is already held`;
    case 'delayed':
      return `failed to lock key ${key} due to lock delay`;
    case 'notHeld':
      return `failed to unlock key ${key}, lock isn't held, or is held by another session`;
    case 'sessionGone':
      return `invalid session ${session}`;
    case 'present':
      return `key ${key} exists`;
    case 'absent':
      if (verb === 'check-index') return `failed to check index, key ${key} doesn't exist`;
      return verb === 'check-session'
        ? `failed to check session, key ${key} doesn't exist`
        : `key ${key} doesn't exist`;
    case 'otherIndex':
      return `failed index check for key ${key}, current modify index ${failure.index} != ${'index' in operation ? operation.index : 0}`;
    case 'otherSession':
      return `failed session check for key ${key}, current session ${JSON.stringify(failure.session)} != ${session}`;
  }
}

function answer({
  results,
  errors,
}: {
  readonly results?: readonly unknown[];
  readonly errors?: readonly TransactionError[];
}) {
  const status = errors === undefined ? 200 : 409;
  return { json: { Results: results ?? null, Errors: errors ?? null }, status } as const;
}
