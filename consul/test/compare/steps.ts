/** The requests for both servers: fixed ones, and sequences generated from a seed. */
import { Prng } from '../../../test/support/machines/prng.ts';
import type { Step } from './ask.ts';

const put = (path: string, body = ''): Step => ({ method: 'PUT', path, body });
const get = (path: string): Step => ({ method: 'GET', path });
const remove = (path: string): Step => ({ method: 'DELETE', path });
const transaction = (...operations: readonly object[]): Step =>
  put('txn', JSON.stringify(operations.map((KV) => ({ KV }))));

/** Each in order, on servers that hold nothing yet. */
export const FIXED: readonly Step[] = [
  ...['kv/none', 'kv/none?raw', 'kv/none?recurse', 'kv/none?keys', 'kv/?keys', 'kv/?recurse', 'kv/', 'kv'].map(get),
  ...[put('kv/'), put('kv'), remove('kv/'), { method: 'POST', path: 'kv/a' }, { method: 'OPTIONS', path: 'kv/a' }],
  ...[put('kv/a', 'one'), get('kv/a'), get('kv/a?raw'), get('kv/a?recurse'), get('kv/a?keys'), get('kv/?keys')],
  ...[
    put('kv/a?flags=42', 'one'),
    get('kv/a'),
    put('kv/a?flags=18446744073709551615', ''),
    get('kv/a'),
    get('kv/a?raw'),
  ],
  ...[put('kv/a?flags=-1'), put('kv/a?flags=x'), put('kv/a?cas=x'), remove('kv/a?cas=x')],
  ...[put('kv/a?cas=0', 'x'), put('kv/a?cas=7', 'x'), put('kv/a?cas={I:a}', 'x'), put('kv/new?cas=0', 'x')],
  ...[put('kv/absent?cas=7', 'x'), remove('kv/absent?cas=7'), remove('kv/a?cas=7'), remove('kv/new?cas={I:new}')],
  ...[put('kv/a?cas=1&acquire=x'), put('kv/a?acquire=x&release=y'), remove('kv/a?recurse&cas=1')],
  ...[put('kv/d/a', '1'), put('kv/d/b/c', '2'), put('kv/d/b/d', '3'), put('kv/d/e', '4')],
  ...['kv/d/?keys', 'kv/d/?keys&separator=/', 'kv/d/?keys&seperator=/', 'kv/d?keys&separator=/', 'kv/d/b?recurse'].map(
    get,
  ),
  ...['kv/d/a?index=x', 'kv/d/a?wait=x&index=1', 'kv/d/a?index=-1', 'kv/d/a?stale&consistent', 'kv/d/a?index=1'].map(
    get,
  ),
  ...['kv/d/a?dc=dc1', 'kv/d/a?dc=elsewhere', 'kv/d/a?datacenter=elsewhere', 'kv/d/a?pretty'].map(get),
  ...[remove('kv/d/b?recurse'), get('kv/d/?keys'), remove('kv/d/?recurse'), get('kv/d/?keys')],
  ...['kv/x//y', 'kv/x/../y', 'kv/./x', 'kv/x/%2e%2e/y', 'kv/x%2F%2Fy', 'kv/%00', 'kv/a%09b', 'kv/a%0Ab'].map((path) =>
    put(path, 'dots'),
  ),
  ...['kv/%7F', 'kv/%C2%A0', 'kv/%E2%80%8B', 'kv/%C3%BC', 'kv/a%20b', 'kv/%', 'kv/a+b'].map((path) => put(path, 'odd')),
  get('kv/?keys'),
  remove('kv/?recurse'),
  ...[
    put('session/create', '{"TTL":"90s"}'),
    get('session/info/{S1}'),
    get('session/list'),
    get('session/node/node-1'),
  ],
  ...[put('session/renew/{S1}'), put('session/renew/none'), put('session/renew/'), put('session/renew')],
  ...[get('session/info/none'), get('session/info/'), get('session/node/none'), get('session/node/')],
  ...[put('session/create'), get('session/info/{S2}'), put('session/renew/{S2}')],
  ...[put('session/create', '{'), put('session/create', '[]'), put('session/create', '{"Name":7}')],
  ...['{"TTL":"x"}', '{"TTL":"1ms"}', '{"TTL":"25h"}', '{"Behavior":"x"}', '{"Node":"none"}'].map((body) =>
    put('session/create', body),
  ),
  ...['{"Checks":["none"]}', '{"NodeChecks":["none"]}', '{"LockDelay":"x"}'].map((body) => put('session/create', body)),
  ...[put('session/create?dc=elsewhere', '{}'), get('session/create'), { method: 'OPTIONS', path: 'session/create' }],
  ...[put('session/create', '{"Behavior":"delete","LockDelay":"15s","Name":"third"}'), get('session/info/{S3}')],
  ...[put('kv/l?acquire=', 'v'), put('kv/l?acquire=none', 'v'), put('kv/l?acquire={S1}', 'v'), get('kv/l')],
  ...[put('kv/l?acquire={S2}', 'v'), put('kv/l?acquire={S1}', 'w'), get('kv/l'), put('kv/l', 'plain'), get('kv/l')],
  ...[put('kv/l?release={S2}', 'v'), put('kv/l?release=', 'v'), put('kv/l?release={S1}', 'left'), get('kv/l')],
  ...[put('kv/l?release={S1}', 'again'), put('kv/l?acquire={S2}', 'v'), get('kv/l')],
  ...[
    put('kv/e?acquire={S3}', 'v'),
    get('kv/e'),
    put('session/destroy/{S3}'),
    get('kv/e'),
    put('kv/e?acquire={S1}', 'v'),
  ],
  ...[put('session/destroy/{S2}'), get('kv/l'), put('kv/l?acquire={S1}', 'v'), put('session/destroy/{S2}')],
  ...[put('session/destroy/'), put('session/destroy'), get('session/destroy/x'), put('session/destroy/none')],
  ...['', '{}', '[{', 'null', '[]', '[{}]', '[7]', '[{"KV":{"Verb":"set","Key":"t","Value":7}}]'].map((body) =>
    put('txn', body),
  ),
  put('txn', '[{"KV":{"Verb":"set","Key":"t","Value":"*"}}]'),
  put('txn', JSON.stringify(Array.from({ length: 129 }, () => ({ KV: { Verb: 'get', Key: 't' } })))),
  put('txn', JSON.stringify([{ KV: { Verb: 'set', Key: 't', Value: 'A'.repeat(600_000) } }])),
  ...['seize', '', 'toString', 'get', 'set'].map((Verb) => transaction({ Verb, Key: '' }, { Verb, Key: 't' })),
  transaction({ Verb: 'lock', Key: 't' }, { Verb: 'unlock', Key: 't' }, { Verb: 'lock', Key: 't', Session: 'none' }),
  transaction(
    { Verb: 'set', Key: 'q/o', Value: 'MQ==' },
    { Verb: 'delete-tree', Key: 'q/' },
    { Verb: 'get-tree', Key: 'q/' },
  ),
  transaction({ Verb: 'get-or-empty', Key: 'none', Flags: 7, Session: 'x' }, { Verb: 'get-tree', Key: 'none' }),
  ...['agent/self', 'agent/members', 'agent/services', 'agent/checks', 'catalog/datacenters', 'catalog/nodes'].map(get),
  ...['catalog/services', 'catalog/service/none', 'catalog/node/none', 'event/list', 'health/service/none'].map(get),
  ...['health/node/node-1', 'health/node/none', 'health/checks/none', 'health/state/any', 'health/state/critical'].map(
    get,
  ),
  ...['status/leader', 'status/peers', 'nothing/of/the/kind', 'kv-and-more', 'txn/'].map(get),
];

const KEYS = ['a', 'a/', 'a/b', 'a/c', 'd'];
const VERBS = [
  ...['set', 'cas', 'lock', 'unlock', 'get', 'get-or-empty', 'get-tree', 'delete', 'delete-cas', 'delete-tree'],
  ...['check-index', 'check-session', 'check-not-exists'],
];

/** A sequence on keys below its own prefix. It begins with three sessions. */
export function sequence(seed: number, length: number): readonly Step[] {
  const prng = new Prng(BigInt(seed));
  const one = <T>(of: readonly T[]): T => of[Math.floor(prng.next() * of.length)] as T;
  const key = (): string => `s${seed}/${one(KEYS)}`;
  const session = (): string => `{S${one([1, 1, 2, 2, 3])}}`;
  const value = (): string => one(['1', '2', '']);
  const index = (of: string): string => one([`{I:${of}}`, `{I:${of}}`, '0', '7']);
  const operation = (): object => {
    const Key = key();
    const base = { Verb: one(VERBS), Key, Value: Buffer.from(value()).toString('base64') };
    return { ...base, Session: session(), Flags: one([0, 3]), Index: `#${index(Key)}#` };
  };
  const kinds: readonly (() => Step)[] = [
    () => put(`kv/${key()}`, value()),
    () => put(`kv/${key()}?flags=${one([0, 3])}`, value()),
    () => put(`kv/${key()}?acquire=${session()}`, value()),
    () => put(`kv/${key()}?acquire=${session()}`, value()),
    () => put(`kv/${key()}?release=${session()}`, value()),
    () => get(`kv/${key()}`),
    () => get(`kv/${key()}?recurse`),
    () => get(`kv/s${seed}/?keys&separator=/`),
    () => remove(`kv/${key()}`),
    () => remove(`kv/${key()}?recurse`),
    () => get(`kv/${key()}?index=1&wait=100ms`),
    () => put(`session/renew/${session()}`),
    () => get(`session/info/${session()}`),
    () => {
      const of = key();
      return put(`kv/${of}?cas=${index(of)}`, value());
    },
    () => {
      const of = key();
      return remove(`kv/${of}?cas=${index(of)}`);
    },
    () => {
      const of = key();
      return get(`kv/${of}?index={I:${of}}&wait=50ms`);
    },
    ...Array.from({ length: 6 }, () => () => {
      const { body = '', ...step } = transaction(...Array.from({ length: 1 + Math.floor(prng.next() * 4) }, operation));
      // An index is a number; until it is filled in, it is a text.
      return { ...step, body: body.replaceAll('"#', '').replaceAll('#"', '') };
    }),
  ];
  const steps = [
    put('session/create', '{"TTL":"24h"}'),
    put('session/create', '{"TTL":"24h","Behavior":"delete"}'),
    put('session/create', '{"LockDelay":"15s"}'),
  ];
  while (steps.length < length) steps.push(prng.next() < 0.02 ? put(`session/destroy/${session()}`) : one(kinds)());
  return [...steps, get(`kv/s${seed}/?recurse`), remove(`kv/s${seed}/?recurse`)];
}
