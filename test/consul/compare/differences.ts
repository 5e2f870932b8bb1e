/** Differences that are meant: each has its line in docs/consul.md, by the name that it has here. What fits none of them is a fault. */
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
}

const ON_ITS_OWN =
  /^(agent\/self|agent\/members|agent\/services|catalog\/nodes|catalog\/services|event\/list|status\/)/;
const INPUT = /decode failed|Failed to parse body|Bad Request/;

/** Alike but for these fields, wherever they stand. */
function isAlikeWithout(fields: readonly string[], { ours, theirs }: Exchange): boolean {
  const without = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value, (name, field: unknown) => (fields.includes(name) ? undefined : field)));
  return isDeepStrictEqual(without(ours), without(theirs));
}

const bothAre = (status: number, { ours, theirs }: Exchange): boolean =>
  ours.status === status && theirs.status === status;

const DIFFERENCES: readonly Difference[] = [
  { name: 'text of a TTL', explains: (exchange) => isAlikeWithout(['TTL'], exchange) },
  { name: 'lock index after a plain write', explains: (exchange) => isAlikeWithout(['LockIndex', 'TTL'], exchange) },
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

/** The name of the difference that an exchange shows; undefined: it is not meant. */
export function explanationOf(exchange: Exchange): string | undefined {
  return DIFFERENCES.find(({ explains }) => explains(exchange))?.name;
}
