import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { LockPorts } from '../../../shared/coordination/lock/lock-verdict.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import { Polls } from '../../http/polls.ts';
import { TokenBook } from '../../http/tokens.ts';
import { Waits } from '../../http/waits.ts';
import { writesFirst } from '../../http/server.ts';
import { Prefixes } from '../../remote/prefixes.ts';

const LIMITS = { token: 2, address: 3, total: 4 };
const secretOf = (name: string): string => `secret-of-${name}-123456`;
const book = new TokenBook(
  ['a', 'b', 'c'].map((name) => ({ name, secret: secretOf(name), keys: {}, sessions: 'deny', nodes: 'deny' })),
);
type Caller = readonly [name: string | undefined, address?: string];
const caller = ([name, address]: Caller) => ({
  rights: book.rightsOf(name === undefined ? undefined : secretOf(name)),
  address,
});

test.each<[string, readonly Caller[], Caller, Caller | undefined]>([
  ['of one token', [['a'], ['a']], ['a'], ['b']],
  ['of callers without a token', [[undefined], [undefined]], [undefined], ['a']],
  [
    'from one address',
    [
      ['a', '::1'],
      ['a', '::1'],
      ['b', '::1'],
    ],
    ['b', '::1'],
    ['b', '::2'],
  ],
  ['in all', [['a'], ['a'], ['b'], ['b']], ['c'], undefined],
])('no more queries wait %s than may, and another may when one ends', (_what, waiting, refused, other) => {
  const waits = new Waits(LIMITS);
  const [end] = waiting.map((one) => waits.begin(caller(one)));

  expect(() => waits.begin(caller(refused))).toThrow(
    expect.objectContaining({
      status: 429,
      message: expect.stringMatching(/^Too many blocking queries wait \(/) as string,
    }),
  );
  if (other !== undefined) waits.begin(caller(other))();
  end?.();
  expect(() => waits.begin(caller(refused))).not.toThrow();
});

test('a write waits for at most 8 reads of keys and 8 reads of other lists', async () => {
  const reads = Promise.withResolvers<{ readonly keys: readonly string[]; readonly next: undefined }>();
  let begun = 0;
  const page = () => {
    begun++;
    return reads.promise;
  };
  const sessions = { getMany: () => Promise.resolve(new Map()) };
  const prefixes = new Prefixes({ runtime: systemRuntime, locks: { page }, sessions } as unknown as LockPorts, 100);
  const { inTurn } = new Polls(systemRuntime);
  const queries = Array.from({ length: 1_000 }, (_, at) => [prefixes.view(`p/${at}`), inTurn(page)]).flat();
  await systemRuntime.clock.sleep(1);

  expect(begun).toBe(16);
  const deletion = prefixes.viewAtOnce('p/');
  expect(begun).toBe(17);
  reads.resolve({ keys: [], next: undefined });
  await Promise.all([...queries, deletion]);
  expect(begun).toBe(2_001);
});

test('a write begins before a thousand reads, of which 8 begin in each pass of the event loop', async () => {
  const begun: string[] = [];
  const serve = writesFirst(({ method }) => {
    begun.push(method);
    return Promise.resolve(new Response());
  });
  const answers = Array.from({ length: 1_000 }, () => serve(new Request('http://gateway/')));
  answers.push(serve(new Request('http://gateway/', { method: 'PUT' })));

  expect(begun).toEqual(['PUT']);
  const counts: number[] = [];
  for (let pass = 0; pass < 3; pass++) {
    await setImmediate();
    counts.push(begun.length);
  }
  expect(counts).toEqual([9, 17, 25]);
  await Promise.all(answers);
  expect(begun).toHaveLength(1_001);
});
