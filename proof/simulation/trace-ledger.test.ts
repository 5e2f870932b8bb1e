import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { changedTraces } from './trace-ledger.ts';

/** The histories that the first tier runs, with their digests. */
const [, ...lines] =
  readFileSync(new URL('./histories.golden.txt', import.meta.url), 'utf8')
    .split('\n\n', 1)[0]
    ?.split('\n') ?? [];
const traces = lines.map((line) => {
  const [seed = '', requests, accepted, digest = ''] = line.trim().split(/ +/);
  return { seed: BigInt(seed), requests: Number(requests), accepted: Number(accepted), digest };
});

test('the ledger of 700 histories begins with those of the first tier', () => {
  expect(changedTraces(traces), 'after an intended change: npm run simulate -- --histories 700 --update').toEqual([]);
});

test('a history that is not as before is named by its seed, in order, and one that is new is not', () => {
  const [one, two, three] = traces;
  if (one === undefined || two === undefined || three === undefined) throw new Error('three histories at least');

  expect(
    changedTraces([
      { ...three, digest: one.digest },
      { ...two, requests: two.requests + 1 },
      one,
      { ...one, seed: 1_000_000n },
    ]),
  ).toEqual([2n, 3n]);
});
