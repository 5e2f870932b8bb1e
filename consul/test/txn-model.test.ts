/**
 * Random transactions against a small model of Consul's: the same results, the same errors, the same keys afterwards.
 *
 * The model has one map and no store. It is Consul's state store in the simplest words; `consul:compare` holds both to a real Consul.
 * Indexes are clocks here and are left out, but for what a condition on them comes to.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openMemoryGateway } from './memory-gateway.ts';

interface Operation {
  readonly Verb: string;
  readonly Key: string;
  readonly Value: string;
  readonly Flags: number;
  /** Which of the sessions: 0 and 1 live, 2 is no session, 3 is none given. */
  readonly who: number;
  /** The condition on the index: none, that of the entry before the transaction, or another. */
  readonly index: 'none' | 'current' | 'other';
}

interface Entry {
  readonly value: string;
  readonly flags: number;
  readonly session: string;
  /** As the test names them: written by an earlier transaction, or by this one. */
  readonly isOld: boolean;
}

type Keys = ReadonlyMap<string, Entry>;
interface Answer {
  readonly Results: readonly { readonly KV: Record<string, unknown> }[] | null;
  readonly Errors: readonly { readonly OpIndex: number; readonly What: string }[] | null;
}

const KEYS = ['q', 'q/', 'q/o', 'q/p', 'r'];
const VERBS = [
  ...['set', 'set', 'cas', 'lock', 'lock', 'unlock', 'get', 'get-or-empty', 'get-tree', 'delete', 'delete-cas'],
  ...['delete-tree', 'check-index', 'check-session', 'check-not-exists', 'seize'],
];
const operations: fc.Arbitrary<Operation> = fc.record({
  Verb: fc.constantFrom(...VERBS),
  Key: fc.constantFrom(...KEYS, ...KEYS, ...KEYS, ''),
  Value: fc.constantFrom('MQ==', 'Mg=='),
  Flags: fc.constantFrom(0, 0, 7),
  who: fc.constantFrom(0, 0, 1, 1, 2, 3),
  index: fc.constantFrom('none', 'current', 'current', 'other'),
});
const histories = fc.array(fc.array(operations, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 5 });

/** What Consul would make of a transaction. */
class Model {
  keys: Keys = new Map();
  readonly #sessions: readonly string[];

  /** @param sessions that are live */
  constructor(sessions: readonly string[]) {
    this.#sessions = sessions;
  }

  run(batch: readonly (Operation & { readonly session: string })[]) {
    const refusals = batch.flatMap(({ Verb, Key }, at) => {
      if (Key === '' && Verb !== 'delete-tree') return [[at, 'Must provide key']];
      return VERBS.includes(Verb) && Verb !== 'seize' ? [] : [[at, `unknown KV operation: ${Verb}`]];
    });
    if (refusals.length > 0) return { results: null, errors: refusals };
    const draft = new Map([...this.keys].map(([key, entry]) => [key, { ...entry, isOld: true }]));
    const tried = batch.map((operation) => this.#try(draft, operation));
    const errors = tried.flatMap((outcome, at) => (typeof outcome === 'string' ? [[at, outcome]] : []));
    if (errors.length > 0) return { results: null, errors };
    this.keys = draft;
    return { results: tried.flat(), errors: null };
  }

  #try(
    draft: Map<string, Entry>,
    { Verb, Key, Value, Flags, session, index }: Operation & { readonly session: string },
  ) {
    const entry = draft.get(Key);
    const below = [...draft.keys()].filter((key) => key.startsWith(Key)).sort();
    const shown = (key: string, withValue: boolean) => {
      const { value, flags, session: holder } = draft.get(key)!;
      return { Key: key, Value: withValue ? value : null, Flags: flags, Session: holder };
    };
    const put = (holder: string) => {
      const isSame = entry?.value === Value && entry.flags === Flags && entry.session === holder;
      draft.set(Key, { value: Value, flags: Flags, session: holder, isOld: isSame && entry.isOld });
      return [shown(Key, false)];
    };
    // What this transaction has written has an index that no caller can know.
    const isAsExpected =
      index === 'none' ? entry === undefined : index === 'current' && entry?.isOld === true && this.keys.has(Key);
    switch (Verb) {
      case 'set':
        return put(entry?.session ?? '');
      case 'cas':
        return isAsExpected ? put(entry?.session ?? '') : `failed to set key "${Key}", index is stale`;
      case 'lock':
        if (session === '') return 'missing session';
        if (!this.#sessions.includes(session)) return `invalid session "${session}"`;
        if (![undefined, '', session].includes(entry?.session))
          return `failed to lock key "${Key}", lock is already held`;
        return put(session);
      case 'unlock':
        if (session === '') return 'missing session';
        if (entry?.session !== session)
          return `failed to unlock key "${Key}", lock isn't held, or is held by another session`;
        return put('');
      case 'get':
        return entry === undefined ? `key "${Key}" doesn't exist` : [shown(Key, true)];
      case 'get-or-empty':
        return entry === undefined ? [{ Key, Value: null, Flags, Session: session }] : [shown(Key, true)];
      case 'get-tree':
        return below.map((key) => shown(key, true));
      case 'delete':
        draft.delete(Key);
        return [];
      case 'delete-cas':
        if (entry !== undefined && !isAsExpected) return `failed to delete key "${Key}", index is stale`;
        draft.delete(Key);
        return [];
      case 'delete-tree':
        for (const key of below) draft.delete(key);
        return [];
      case 'check-index':
        if (entry === undefined) return `failed to check index, key "${Key}" doesn't exist`;
        return isAsExpected ? [shown(Key, false)] : `failed index check for key "${Key}", current modify index N != N`;
      case 'check-session':
        if (entry === undefined) return `failed to check session, key "${Key}" doesn't exist`;
        return entry.session === session
          ? [shown(Key, false)]
          : `failed session check for key "${Key}", current session "${entry.session}" != "${session}"`;
      default:
        return entry === undefined ? [] : `key "${Key}" exists`;
    }
  }
}

test("produces Consul's results for each transaction in a sequence", () =>
  fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const gateway = openMemoryGateway();
      const live = [await gateway.newSession(), await gateway.newSession()];
      const sessions = [...live, 'nobody', ''];
      const model = new Model(live);
      let indexes = new Map<string, number>();
      for (const [round, batch] of history.entries()) {
        const named = batch.map((operation) => ({ ...operation, session: sessions[operation.who] ?? '' }));
        const body = named.map(({ Verb, Key, Value, Flags, session, index }) => {
          const Index = index === 'none' ? 0 : index === 'other' ? 7 : (indexes.get(Key) ?? 8);
          return { KV: { Verb, Key, Value, Flags, Session: session, Index } };
        });

        const { status, text } = await gateway.ask('PUT', 'txn', JSON.stringify(body));

        const { Results, Errors } = JSON.parse(text) as Answer;
        const told = {
          results: Results?.map(({ KV }) => factsOf(KV)) ?? null,
          errors: Errors?.map(({ OpIndex, What }) => [OpIndex, What.replace(/\d+ != \d+/, 'N != N')]) ?? null,
        };
        expect(told, `transaction ${round}`).toEqual(model.run(named));
        expect(status).toBe(Errors === null ? 200 : 409);
        const stored = await gateway.ask('GET', 'kv/?recurse');
        const pairs = stored.status === 404 ? [] : (JSON.parse(stored.text) as Record<string, unknown>[]);
        indexes = new Map(pairs.map(({ Key, ModifyIndex }) => [String(Key), Number(ModifyIndex)]));
        expect(pairs.map(factsOf), `after transaction ${round}`).toEqual(
          [...model.keys]
            .sort(([one], [other]) => (one < other ? -1 : 1))
            .map(([Key, { value, flags, session }]) => ({ Key, Value: value, Flags: flags, Session: session })),
        );
      }
    }),
    { numRuns: 200, seed: 20_261_123 },
  ));

function factsOf({ Key, Value, Flags, Session = '' }: Record<string, unknown>) {
  return { Key, Value, Flags, Session };
}
