/** Intended differences: each has a line in consul/README.md under the same name. Any other difference is a fault. */
import { isDeepStrictEqual } from 'node:util';
import type { Answer, Step } from './ask.ts';

export interface Exchange {
  readonly step: Step;
  readonly ours: Answer;
  readonly theirs: Answer;
}

interface Difference {
  readonly name: string;
  readonly explains: (exchange: Exchange) => boolean;
  /** One has written what the other has not: what follows in the sequence cannot be compared. */
  readonly diverges?: true;
}

const ON_ITS_OWN =
  /^(agent\/self|agent\/members|agent\/services|catalog\/nodes|catalog\/services|event\/list|status\/)/;
const STALE = /index is stale$|^failed index check for key/;
const INPUT = /decode failed|Failed to parse body|Bad Request/;

/** Equal except for these fields, at any depth. */
function isAlikeWithout(fields: readonly string[], { ours, theirs }: Exchange): boolean {
  const without = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value, (name, field: unknown) => (fields.includes(name) ? undefined : field)));
  return isDeepStrictEqual(without(ours), without(theirs));
}

const bothAre = (status: number, { ours, theirs }: Exchange): boolean =>
  ours.status === status && theirs.status === status;

interface TransactionAnswer {
  readonly Results: readonly { readonly KV: { readonly Key: string; readonly LockIndex: number } }[] | null;
  readonly Errors: readonly { readonly What: string }[] | null;
}

/**
 * A transaction writes to a key what is stored there, and then rests on its index. Here nothing has changed.
 * In Consul the lock index went to 0, which is a change.
 */
function isStaleByLockIndex({ step, ours, theirs }: Exchange): boolean {
  if (step.path !== 'txn' || ours.status !== 200 || theirs.status !== 409) return false;
  const { Results } = ours.body as TransactionAnswer;
  const { Errors } = theirs.body as TransactionAnswer;
  const acquired = (Results ?? []).filter(({ KV }) => KV.LockIndex > 0).map(({ KV }) => JSON.stringify(KV.Key));
  return (Errors ?? []).every(({ What }) => STALE.test(What) && acquired.some((key) => What.includes(`key ${key}`)));
}

const DIFFERENCES: readonly Difference[] = [
  { name: 'text of a TTL', explains: (exchange) => isAlikeWithout(['TTL'], exchange) },
  { name: 'lock index after a plain write', explains: (exchange) => isAlikeWithout(['LockIndex', 'TTL'], exchange) },
  { name: 'lock index after a plain write', explains: isStaleByLockIndex, diverges: true },
  {
    name: 'status of a redirect',
    explains: ({ ours, theirs }) =>
      ours.status === 301 && theirs.status === 307 && ours.headers.location === theirs.headers.location,
  },
  {
    name: 'texts about bad input',
    explains: (exchange) => bothAre(400, exchange) && INPUT.test(String(exchange.theirs.body)),
  },
  {
    name: 'texts about bad input',
    explains: (exchange) => bothAre(413, exchange) && String(exchange.ours.body).startsWith('Request body('),
  },
  {
    name: 'what an agent says of itself',
    explains: (exchange) => bothAre(200, exchange) && ON_ITS_OWN.test(exchange.step.path),
  },
];

/** The difference that an exchange shows; undefined: it is not meant. */
export function explanationOf(exchange: Exchange): Difference | undefined {
  return DIFFERENCES.find(({ explains }) => explains(exchange));
}
