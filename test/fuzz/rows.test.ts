/** Rows of tasks that were damaged by hand, each among whole ones. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { complaintAbout, describePoison, workBeside } from './beside-poison.ts';
import type { Poison } from './poison.ts';
import { poison } from './poison.ts';

const CASES = 300;
const TOO_LONG = 'x'.repeat(3_000);
/** They mostly wait. */
const AT_ONCE = 25;

describe('a row that was damaged by hand', () => {
  test('ends dead within its attempts, or is left as it is; and no other task notices', async () => {
    const cases = fc.sample(poison, { numRuns: CASES, seed: 20_261_121 });
    const wrong: string[] = [];
    for (let from = 0; from < CASES; from += AT_ONCE)
      await Promise.all(
        cases.slice(from, from + AT_ONCE).map(async (found) => {
          const complaint = await complaintAbout(found);
          if (complaint !== undefined) wrong.push(`${complaint}: ${describePoison(found)}`);
        }),
      );

    expect(wrong).toEqual([]);
  });

  test('does not stop other rows if it is too full for any addition', async () => {
    const lengths = Array.from({ length: 21 }, (_, step) => 409_100 + 20 * step);
    const wrong: string[] = [];
    for (const length of lengths) {
      const found: Poison = { standing: 'ready', damages: [{ attribute: 'unheardOf', value: 'x'.repeat(length) }] };
      const complaint = await complaintAbout(found);
      if (complaint !== undefined) wrong.push(`${length} characters: ${complaint}`);
    }

    expect(wrong).toEqual([]);
  });

  test.each<Poison>([
    { standing: 'ready', damages: [{ attribute: 'input', value: '{' }] },
    { standing: 'ready', damages: [{ attribute: 'leaseCounter', value: Number.MAX_SAFE_INTEGER }] },
    { standing: 'abandoned', damages: [{ attribute: 'leaseCounter', value: Number.MAX_SAFE_INTEGER }] },
    // A name that no key can hold.
    { standing: 'abandoned', damages: [{ attribute: 'session', value: TOO_LONG }] },
    { standing: 'ready', damages: [{ attribute: 'batch', value: TOO_LONG }] },
    { standing: 'ready', damages: [{ attribute: 'key', value: { key: TOO_LONG, limit: 1 } }] },
    { standing: 'ready', damages: [{ attribute: 'notify', value: { queue: 'q', id: TOO_LONG, openKey: 'o' } }] },
    {
      standing: 'ready',
      damages: [
        { attribute: 'line', value: TOO_LONG },
        { attribute: 'ticket', value: 1 },
      ],
    },
  ])('is reported by the worker that meets it, and left as it is (%j)', async (found) => {
    const outcome = await workBeside(found);

    expect(outcome).toMatchObject({ reports: [{ damaged: expect.any(Number) as number }] });
    if (outcome === 'not storable') return;
    expect(outcome.reports[0]!.damaged).toBeGreaterThan(0);
    expect(outcome.after).toEqual(outcome.before);
  });
});
