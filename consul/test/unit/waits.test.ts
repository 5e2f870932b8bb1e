import { expect, test } from 'vitest';
import { TokenBook } from '../../http/tokens.ts';
import { Waits } from '../../http/waits.ts';

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
