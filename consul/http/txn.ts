/** `/v1/txn`: the key-value verbs of a transaction, as one transaction of the library. */
import { ConfigurationError } from '../../shared/core/errors.ts';
import { validName } from '../../shared/core/validate/options.ts';
import type { KeyEntry } from '../remote/entry.ts';
import { VALUE_LIMIT_BYTES } from '../../shared/coordination/lock/lock-record.ts';
import type { KeyOperation, OperationFailure } from '../remote/transactions.ts';
import { Body } from './body.ts';
import type { Answer, Endpoint } from './exchange.ts';
import { tellWritten } from './gateway.ts';
import { contentFor } from './kv.ts';
import { badRequest, denied, tooLarge } from './problem.ts';
import { keyPair } from './shapes.ts';
import type { Rights } from './tokens.ts';

/** As Consul 1.20 bounds them: operations, and bytes of the body. */
const MAX_OPERATIONS = 128;
const BODY_LIMIT_BYTES = 512 * 1024;
const PARSE_FAILED = 'Failed to parse body';
const DENIED = 'Permission denied';

interface Step {
  readonly verb: string;
  readonly operation: KeyOperation;
  /** The entry as requested, which `get-or-empty` returns if the key is missing. */
  readonly asked: KeyEntry;
}

/** Why an operation of the body is refused before any read. */
interface Refused {
  readonly verb?: string;
  readonly refusal: string;
}

interface TransactionError {
  readonly OpIndex: number;
  readonly What: string;
}

export const runTransaction: Endpoint = async (exchange) => {
  const { rights } = exchange;
  // Before the body is read: nothing in it could be allowed.
  if (!rights.mayAnyKey()) throw denied();
  const parsed = operationsOf(await exchange.json(PARSE_FAILED, BODY_LIMIT_BYTES)).map((fields) =>
    stepOf(fields, rights),
  );
  const errors = parsed.flatMap((step, at) => ('refusal' in step ? [{ OpIndex: at, What: step.refusal }] : []));
  // Consul answers a read-only transaction on another path, whose answers describe the read as well.
  const isReading = parsed.every((step) => !('verb' in step) || !WRITING.includes(step.verb));
  if (errors.length > 0) return answer({ errors }, isReading ? { isLeaderKnown: false } : undefined);
  const reading = isReading ? { isLeaderKnown: true } : undefined;
  const steps = parsed.filter((step) => 'operation' in step);

  const outcome = await exchange.gateway.remote.transactions.run(steps.map(({ operation }) => operation));
  if (outcome.kind === 'tooMany')
    throw tooLarge(`Transaction touches too many keys and sessions (${outcome.keys} > 100)`);
  if (outcome.kind === 'refused') {
    const failures = new Map(outcome.failures.map(({ at, failure }) => [at, failure]));
    const refusals = steps.flatMap((step, at) => {
      const failure = failures.get(at);
      return failure === undefined ? [] : [{ OpIndex: at, What: textOf(step, failure) }];
    });
    return answer({ errors: refusals }, reading);
  }
  exchange.report(outcome.damaged);
  tellWritten(exchange.gateway, outcome.written);
  const results = steps.flatMap((step, at) => resultsOf(step, outcome.results[at] ?? [], rights));
  return answer({ results }, reading);
};

/** The operations of a body; those without any kind are left out, and not counted. @throws Problem */
function operationsOf(json: unknown): readonly Body[] {
  if (json === undefined) throw badRequest(`${PARSE_FAILED}: EOF`);
  if (json === null) return [];
  if (!Array.isArray(json)) throw badRequest(`${PARSE_FAILED}: expected a list of operations`);
  if (json.length > MAX_OPERATIONS)
    throw tooLarge(`Transaction contains too many operations (${json.length} > ${MAX_OPERATIONS})`);
  return json.map((entry) => new Body(entry, PARSE_FAILED)).filter((body) => KINDS.some((kind) => body.object(kind)));
}

/** The subjects of Consul's transactions. Only keys exist here. */
const KINDS = ['KV', 'Node', 'Service', 'Check'] as const;

function stepOf(body: Body, rights: Rights): Step | Refused {
  const fields = body.object('KV');
  if (fields === undefined) return { refusal: 'only KV operations are known here' };
  const verb = fields.text('Verb');
  const key = fields.text('Key');
  if (key === '' && verb !== 'delete-tree') return { verb, refusal: 'Must provide key' };
  const operation = operationOf(fields, verb, key, rights);
  if (typeof operation === 'string') return { verb, refusal: operation };
  return isAllowed(operation, rights) ? { verb, operation, asked: askedEntry(fields, key) } : { verb, refusal: DENIED };
}

/** Verbs that make a transaction a writing one. */
const WRITING = ['set', 'cas', 'lock', 'unlock', 'delete', 'delete-cas', 'delete-tree'];

/** Verbs that need a key alone, by their names here. */
const PLAIN = { get: 'get', 'get-or-empty': 'find', delete: 'delete', 'check-not-exists': 'checkAbsent' } as const;

/** The operation, or why there is none. */
function operationOf(fields: Body, verb: string, key: string, rights: Rights): KeyOperation | string {
  if (verb === 'get-tree') return { verb: 'list', prefix: key, shows: (below) => rights.mayKey('read', below) };
  if (verb === 'delete-tree') return { verb: 'deleteAll', prefix: key };
  const unstorable = unstorableKey(key);
  if (unstorable !== undefined) return unstorable;
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
      return { verb: verb === 'lock' ? 'acquire' : 'release', key, content: contentOf(fields, key), session };
    case 'delete-cas':
      return { verb: 'deleteIf', key, index };
    case 'check-index':
      return { verb: 'checkIndex', key, index };
    case 'check-session':
      return { verb: 'checkSession', key, session };
    default:
      return `unknown KV operation: ${verb}`;
  }
}

function unstorableKey(key: string): string | undefined {
  try {
    validName('key', key);
    return undefined;
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
}

function contentOf(fields: Body, key: string) {
  // Line breaks are not part of base64, and Go's decoder skips them.
  const text = fields.text('Value').replaceAll(/[\r\n]/g, '');
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
    // Entries that the caller may not read are left out of the results.
    case 'list':
      return rights.readableBelow(operation.prefix) !== undefined;
    case 'find':
      return true;
    // It fails without an entry, so its outcome alone would reveal whether there is one.
    case 'get':
    case 'checkIndex':
    case 'checkSession':
    case 'checkAbsent':
      return rights.mayKey('read', operation.key);
    case 'deleteAll':
      return rights.mayWriteTree(operation.prefix);
    default:
      return rights.mayKey('write', operation.key);
  }
}

/** Reading verbs answer with values, the others without. */
function resultsOf({ verb, asked }: Step, entries: readonly KeyEntry[], rights: Rights): readonly unknown[] {
  const isReading = ['get', 'get-or-empty', 'get-tree'].includes(verb);
  const shown = verb === 'get-or-empty' && entries.length === 0 ? [asked] : entries;
  return shown
    .filter(({ key }) => !isReading || rights.mayKey('read', key))
    .map((entry) => ({ KV: keyPair(entry, { withValue: isReading }) }));
}

function askedEntry(fields: Body, key: string): KeyEntry {
  const session = fields.text('Session') === '' ? undefined : fields.text('Session');
  const none = { bytes: new Uint8Array(), lockIndex: 0, createIndex: 0 };
  return { ...none, key, session, flags: wholeOf(fields, 'Flags'), modifyIndex: Number(wholeOf(fields, 'Index')) };
}

function textOf({ verb, operation }: Step, failure: OperationFailure): string {
  if ('session' in operation && operation.session === '' && operation.verb !== 'checkSession') return 'missing session';
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

/** @param reading of a transaction that only reads: whether a leader was asked, which it is not when an operation was refused before */
function answer(
  { results, errors }: { readonly results?: readonly unknown[]; readonly errors?: readonly TransactionError[] },
  reading: { readonly isLeaderKnown: boolean } | undefined,
): Answer {
  const json = { Results: results ?? null, Errors: errors ?? null };
  const status = errors === undefined ? 200 : 409;
  if (reading === undefined) return { json, status };
  const { isLeaderKnown } = reading;
  const meta = { Index: 0, LastContact: 0, KnownLeader: isLeaderKnown, ConsistencyLevel: '' };
  return {
    status,
    json: { ...json, ...meta, NotModified: false, Backend: 0, ResultsFilteredByACLs: false },
    headers: { 'X-Consul-KnownLeader': String(isLeaderKnown), 'X-Consul-LastContact': '0' },
  };
}
