/** No transaction does, or tells, what the plain verbs would not, whatever the rules, the keys and the operations are. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openMemoryGateway } from './memory-gateway.ts';

type Level = 'deny' | 'read' | 'write';
interface Operation {
  readonly Verb: string;
  readonly Key: string;
  readonly Index?: number;
  readonly Session?: string;
}
interface Setting {
  readonly rules: Readonly<Record<string, Level>>;
  readonly keys: readonly string[];
  readonly operations: readonly Operation[];
}
interface Outcome {
  readonly Results: readonly { readonly KV: { readonly Key: string; readonly Value: string | null } }[] | null;
  readonly Errors: readonly { readonly OpIndex: number; readonly What: string }[] | null;
}

const ADMIN = 'secret-of-the-admin-0123456789';
const LIMITED = 'secret-of-the-limited-0123456789';
const PLACES = ['', 'a', 'a/', 'a/b', 'a/b/', 'a/b/c', 'ab', 'b/', 'b/c'];
const KEYS = ['a', 'a/b', 'a/b/c', 'a/b/d', 'ab', 'b/c', 'c'];
const TREES = ['get-tree', 'delete-tree'];
const VERBS = [
  ...['set', 'cas', 'lock', 'unlock', 'get', 'get-or-empty', 'delete', 'delete-cas'],
  ...['check-index', 'check-session', 'check-not-exists'],
];

const level = fc.constantFrom<Level>('deny', 'read', 'write');
const one = fc.record({ Verb: fc.constantFrom(...VERBS), Key: fc.constantFrom(...KEYS), Index: fc.constantFrom(0, 7) });
const tree = fc.record({ Verb: fc.constantFrom(...TREES), Key: fc.constantFrom(...PLACES) });
const settings: fc.Arbitrary<Setting> = fc.record({
  rules: fc.dictionary(fc.constantFrom(...PLACES), level, { minKeys: 1 }),
  keys: fc.uniqueArray(fc.constantFrom(...KEYS)),
  operations: fc.array(fc.oneof({ weight: 2, arbitrary: one }, { weight: 1, arbitrary: tree }), {
    minLength: 1,
    maxLength: 4,
  }),
});

/** The rules again, in their simplest form. */
function levelOf(rules: Setting['rules'], key: string): Level {
  const fitting = Object.keys(rules).filter((prefix) => key.startsWith(prefix));
  const longest = fitting.reduce<string | undefined>(
    (best, prefix) => (best === undefined || prefix.length > best.length ? prefix : best),
    undefined,
  );
  return longest === undefined ? 'deny' : (rules[longest] ?? 'deny');
}

/** Opens a separate gateway with these keys, and one session that holds no key. */
async function open({ rules, keys }: Pick<Setting, 'rules' | 'keys'>) {
  const nothing = { keys: {}, sessions: 'deny', nodes: 'deny' } as const;
  const gateway = openMemoryGateway([
    { ...nothing, name: 'admin', secret: ADMIN, keys: { '': 'write' }, sessions: 'write' },
    { ...nothing, name: 'limited', secret: LIMITED, keys: rules },
  ]);
  const ask = (token: string, method: string, path: string, body?: string) =>
    gateway.ask(method, path, body, { 'X-Consul-Token': token });
  for (const key of keys) await ask(ADMIN, 'PUT', `kv/${key}`, `at ${key}`);
  const session = await gateway.newSession({}, { 'X-Consul-Token': ADMIN });
  return {
    ask,
    session,
    async transact(operations: readonly Operation[]): Promise<Outcome & { readonly status: number }> {
      const body = operations.map((operation) => ({ KV: { ...operation, Value: 'bmV3', Session: session } }));
      const { status, text } = await ask(LIMITED, 'PUT', 'txn', JSON.stringify(body));
      // Without any right there is no telling of operations.
      if (status === 403) return { status, Results: null, Errors: body.map((_, at) => ({ OpIndex: at, What: text })) };
      return { status, ...(JSON.parse(text) as Outcome) };
    },
    /** All there is, by key. */
    async stored(): Promise<ReadonlyMap<string, string>> {
      const { status, text } = await ask(ADMIN, 'GET', 'kv/?recurse');
      const pairs = status === 404 ? [] : (JSON.parse(text) as { readonly Key: string }[]);
      return new Map(pairs.map((pair) => [pair.Key, JSON.stringify(pair)]));
    },
  };
}

type Place = Awaited<ReturnType<typeof open>>;

/** The plain verb that does what an operation does. */
function plainly({ ask, session }: Place, { Verb, Key, Index = 0 }: Operation) {
  const plain: Record<string, readonly [string, string]> = {
    set: ['PUT', `kv/${Key}`],
    cas: ['PUT', `kv/${Key}?cas=${Index}`],
    lock: ['PUT', `kv/${Key}?acquire=${session}`],
    unlock: ['PUT', `kv/${Key}?release=${session}`],
    delete: ['DELETE', `kv/${Key}`],
    'delete-cas': ['DELETE', `kv/${Key}?cas=${Index}`],
    'delete-tree': ['DELETE', `kv/${Key}?recurse`],
    'get-tree': ['GET', `kv/${Key}?recurse`],
  };
  const [method, path] = plain[Verb] ?? ['GET', `kv/${Key}`];
  return ask(LIMITED, method, path, method === 'PUT' ? 'new' : undefined);
}

/** The caller's response, without the indexes, which are clocks. */
function told({ status, Results, Errors }: Outcome & { readonly status: number }, { session }: Place): string {
  const results = Results?.map(({ KV }) => [KV.Key, KV.Value]);
  const errors = Errors?.map(({ OpIndex, What }) => [OpIndex, What.replace(session, 'S').replace(/\d{6,}/, 'N')]);
  return JSON.stringify({ status, results, errors });
}

const check = (property: (setting: Setting) => Promise<void>) =>
  fc.assert(fc.asyncProperty(settings, property), { numRuns: 100, seed: 20_261_123 });

describe('a transaction of a caller with few rights', () => {
  test('changes nothing that its caller may not write, and shows nothing that its caller may not read', () =>
    check(async ({ rules, keys, operations }) => {
      const place = await open({ rules, keys });
      const before = await place.stored();

      const { Results } = await place.transact(operations);

      const after = await place.stored();
      const changed = [...before.keys(), ...after.keys()].filter((key) => before.get(key) !== after.get(key));
      expect(changed.filter((key) => levelOf(rules, key) !== 'write')).toEqual([]);
      const shown = (Results ?? []).map(({ KV }) => KV.Key);
      expect(shown.filter((key) => levelOf(rules, key) === 'deny')).toEqual([]);
    }));

  test('is refused, or tells nothing, where the plain verb is refused', () =>
    check(async ({ rules, keys, operations }) => {
      const place = await open({ rules, keys });

      const { Results, Errors } = await place.transact(operations);

      const isDenied = (at: number): boolean =>
        Errors?.some(({ OpIndex, What }) => OpIndex === at && What === 'Permission denied') ?? false;
      for (const [at, operation] of operations.entries()) {
        if ((await plainly(place, operation)).status !== 403) continue;
        const isSilent = operation.Verb === 'get-or-empty' && !Results?.some(({ KV }) => KV.Key === operation.Key);
        expect(isDenied(at) || isSilent, `${operation.Verb} ${operation.Key}`).toBe(true);
      }
    }));

  test('ends alike whether there are keys that its caller may not read, or not', () =>
    check(async ({ rules, keys, operations }) => {
      const [full, bare] = [
        await open({ rules, keys }),
        await open({ rules, keys: keys.filter((key) => levelOf(rules, key) !== 'deny') }),
      ];

      expect(told(await full.transact(operations), full)).toBe(told(await bare.transact(operations), bare));
    }));
});

describe.each(['deny', 'read'] as const)('a prefix with something below it that the caller may only %s', (below) => {
  const rules = { 'billing/': 'write', 'billing/secret/': below } as const;

  test.each([
    ['there', ['billing/a', 'billing/secret/b']],
    ['not there yet', ['billing/a']],
  ])('is not deleted, by no verb, when the forbidden key is %s', async (_when, keys) => {
    const place = await open({ rules, keys });
    const before = await place.stored();

    const alone = await place.ask(LIMITED, 'DELETE', 'kv/billing/?recurse');
    const inTransaction = await place.transact([{ Verb: 'delete-tree', Key: 'billing/' }]);

    expect(alone).toMatchObject({ status: 403, text: 'Permission denied' });
    expect(inTransaction).toEqual({
      status: 409,
      Results: null,
      Errors: [{ OpIndex: 0, What: 'Permission denied' }],
    });
    expect(await place.stored()).toEqual(before);
  });
});

test('hides a tree larger than a transaction if the caller may read none of it', async () => {
  const keys = Array.from({ length: 101 }, (_, at) => `sealed/${at}`);
  const place = await open({ rules: { '': 'read', 'sealed/': 'deny' }, keys });

  expect(await place.transact([{ Verb: 'get-tree', Key: 's' }])).toMatchObject({
    status: 200,
    Results: [],
    Errors: null,
  });
});
