/** `/v1/kv`: the entries of locks, and the verbs of their holders. */
import { validName } from '../../shared/core/validate/options.ts';
import { VALUE_LIMIT_BYTES } from '../../shared/coordination/lock/lock-record.ts';
import type { KeyContent, KeyEntry } from '../remote/entry.ts';
import { entryOf } from '../remote/entry.ts';
import type { KeyOperation } from '../remote/transactions.ts';
import type { PrefixView } from '../remote/prefix.ts';
import { fingerprintOfEntries } from '../remote/prefix.ts';
import { allOf } from '../../shared/core/runtime/all-of.ts';
import { inFlight } from '../../shared/core/runtime/in-flight.ts';
import { blockingOf, counted, within } from './blocking.ts';
import type { Answer, Endpoint, Exchange } from './exchange.ts';
import { metaHeaders } from './exchange.ts';
import { tellWritten } from './gateway.ts';
import { isSame } from './prefix-index.ts';
import { badRequest, denied, failed } from './problem.ts';
import { keyPair } from './shapes.ts';

/** Deletions side by side. */
const DELETIONS_IN_FLIGHT = 16;

/** Consul's prefix for an error of its log. */
const APPLY_FAILED = 'raft apply failed';

export const readKeys: Endpoint = (exchange) => {
  if (exchange.query.has('keys')) return listKeys(exchange);
  return exchange.query.has('recurse') ? readPrefix(exchange) : readKey(exchange);
};

async function readKey(exchange: Exchange): Promise<Answer> {
  const key = keyOf(exchange);
  exchange.rights.ensureKey('read', key);
  const { locks } = exchange.gateway.remote;
  const { index: asked, waitMs } = blockingOf(exchange);
  const seen =
    asked === 0
      ? await locks.read(key)
      : await counted(exchange, () =>
          locks.watch(key, { index: asked, timeout: waitMs, isAbsenceNews: false, signal: exchange.signal }),
        );
  // A key without a row has no clock. A client that knew the key before it was swept continues from its own index.
  const index = seen.index === 0 ? Math.max(1, asked) : seen.index;
  if (seen.info === undefined) return notFound(index);
  const facts = entryOf(seen.info);
  return exchange.query.has('raw') ? rawValue(facts, index) : { json: [keyPair(facts, { withValue: true })], index };
}

async function readPrefix(exchange: Exchange): Promise<Answer> {
  const { entries, index } = await blockingView(exchange);
  if (entries.length === 0) return notFound(index);
  return { json: entries.map((entry) => keyPair(entry, { withValue: true })), index };
}

async function listKeys(exchange: Exchange): Promise<Answer> {
  const { entries, index } = await blockingView(exchange);
  const separator = exchange.query.get('separator') ?? exchange.query.get('seperator') ?? '';
  const prefix = exchange.rest;
  const keys = entries.map(({ key }) => key);
  if (keys.length === 0 && prefix !== '') return notFound(index);
  const folded = keys.map((key) => {
    const at = separator === '' ? -1 : key.indexOf(separator, prefix.length);
    return at === -1 ? key : key.slice(0, at + separator.length);
  });
  return { json: [...new Set(folded)], index };
}

/**
 * Returns the readable entries under the prefix once they differ from the entries at the given index.
 * The index covers only these entries, so it reveals nothing about others.
 * @throws Problem 403 before any read, if the caller may read no key with the prefix
 */
async function blockingView(
  exchange: Exchange,
): Promise<{ readonly entries: readonly KeyEntry[]; readonly index: number }> {
  const { indexes, remote } = exchange.gateway;
  const prefix = exchange.rest;
  const readable = exchange.rights.readableBelow(prefix);
  if (readable === undefined) throw denied();
  const { index: asked, waitMs } = blockingOf(exchange);
  const seenOf = (view: PrefixView): Pick<PrefixView, 'entries' | 'fingerprint'> => {
    if (readable === '') return view;
    const entries = view.entries.filter(({ key }) => exchange.rights.mayKey('read', key));
    return { entries, fingerprint: fingerprintOfEntries(entries) };
  };
  const isNews = (view: PrefixView): boolean => !isSame(asked, contentOf(seenOf(view)));
  const view =
    asked === 0
      ? await remote.prefixes.view(prefix)
      : await within(exchange, waitMs, (over) => remote.prefixes.watch(prefix, isNews, over));
  exchange.report([...view.unread, ...view.unjudged]);
  const seen = seenOf(view);
  return { entries: seen.entries, index: indexes.indexOf(`keys ${prefix} ${readable}`, contentOf(seen), asked) };
}

function contentOf({ entries, fingerprint }: Pick<PrefixView, 'entries' | 'fingerprint'>) {
  return { fingerprint, newestAt: entries.reduce((newest, { modifyIndex }) => Math.max(newest, modifyIndex), 0) };
}

export const writeKey: Endpoint = async (exchange) => {
  const key = keyOf(exchange);
  ensureOneOf(exchange, ['cas', 'acquire', 'release']);
  exchange.rights.ensureKey('write', key);
  const flags = exchange.number('flags') ?? 0n;
  const ifIndex = casOf(exchange);
  const content = contentFor(key, await exchange.bytes(VALUE_LIMIT_BYTES), flags);
  const { remote } = exchange.gateway;
  const startedAt = exchange.gateway.runtime.clock.now();
  const operation = operationOf(exchange, key, content, ifIndex);
  const outcome = await remote.transactions.run([operation]);
  const isDone = outcome.kind === 'done';
  if (!isDone && operation.verb === 'acquire' && isSessionGone(outcome))
    throw failed(`${APPLY_FAILED}: invalid session ${JSON.stringify(operation.session)}`);
  if (!isDone) return { json: false };
  // If this request created the entry, wait until listings show it before we answer.
  const createdAt = outcome.results[0]?.[0]?.createIndex ?? 0;
  if (operation.verb !== 'release' && startedAt <= createdAt) await remote.prefixes.awaitListed(key);
  tellWritten(exchange.gateway, [key]);
  return { json: true };
};

function operationOf(exchange: Exchange, key: string, content: KeyContent, ifIndex: number | undefined): KeyOperation {
  for (const verb of ['acquire', 'release'] as const)
    if (exchange.query.has(verb)) return { verb, key, content, session: sessionParameter(exchange, verb) };
  return ifIndex === undefined ? { verb: 'set', key, content } : { verb: 'setIf', key, content, index: ifIndex };
}

function isSessionGone(outcome: Awaited<ReturnType<Exchange['gateway']['remote']['transactions']['run']>>): boolean {
  return outcome.kind === 'refused' && outcome.failures.some(({ failure }) => failure.kind === 'sessionGone');
}

export const deleteKeys: Endpoint = async (exchange) => {
  ensureOneOf(exchange, ['recurse', 'cas']);
  if (exchange.query.has('recurse')) return { json: await deletePrefix(exchange) };
  const key = keyOf(exchange);
  exchange.rights.ensureKey('write', key);
  const ifIndex = casOf(exchange);
  const { locks } = exchange.gateway.remote;
  const result = await locks.delete(key, { ifIndex, evenIfHeld: true });
  tellWritten(exchange.gateway, [key]);
  // A missing key needs no deletion, whatever index the caller expected.
  return { json: result.kind !== 'conflict' || result.current === undefined };
};

/**
 * One key after the other, so others may see some of them gone before the rest.
 * @throws CorruptItemError when a row below the prefix could not be read: it is there still, and the others are gone
 */
async function deletePrefix(exchange: Exchange): Promise<true> {
  const prefix = exchange.rest;
  if (!exchange.rights.mayWriteTree(prefix)) throw denied();
  const { remote } = exchange.gateway;
  const { entries, unread } = await remote.prefixes.viewAtOnce(prefix);
  const run = inFlight(DELETIONS_IN_FLIGHT);
  await allOf(entries.map(({ key }) => run(() => remote.locks.delete(key, { evenIfHeld: true }))));
  tellWritten(
    exchange.gateway,
    entries.map(({ key }) => key),
  );
  if (unread.length > 0) throw unread[0];
  return true;
}

/** @throws Problem 400 for a key that no row can have */
export function contentFor(key: string, bytes: Uint8Array, flags: bigint): KeyContent {
  validName('key', key);
  return { bytes, flags };
}

function keyOf({ rest }: Exchange): string {
  if (rest === '') throw badRequest('Missing key name');
  return validName('key', rest);
}

function casOf(exchange: Exchange): number | undefined {
  const cas = exchange.number('cas');
  return cas === undefined ? undefined : Number(cas);
}

function sessionParameter({ query }: Exchange, name: 'acquire' | 'release'): string {
  const session = query.get(name) ?? '';
  if (session === '') throw failed(`${APPLY_FAILED}: missing session`);
  return session;
}

function ensureOneOf({ query }: Exchange, names: readonly string[]): void {
  if (names.filter((name) => query.has(name)).length <= 1) return;
  const sorted = new URLSearchParams(query);
  sorted.sort();
  throw badRequest(`Conflicting flags: ${sorted.toString()}\n`);
}

function notFound(index: number): Response {
  return new Response(null, { status: 404, headers: metaHeaders(index) });
}

/** As it is, and told to browsers to be nothing but text. */
function rawValue(facts: KeyEntry, index: number): Response {
  return new Response(new Uint8Array(facts.bytes), {
    headers: {
      ...metaHeaders(index),
      'Content-Type': 'text/plain',
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': 'sandbox',
    },
  });
}
