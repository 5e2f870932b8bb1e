/** After a short wait, a durable task continues in the worker that has suspended it, because that worker stays. */
import { expect, test } from 'vitest';
import { measureAnswers } from '../../../../bench/durable/answers.ts';
import { LATENCIES } from '../../../../bench/latencies.ts';

test('a lone worker stays for a wait of 5 s, and ends when its task has ended', async () => {
  const { wait, billedOfWait } = await measureAnswers('cold', 3, LATENCIES);

  expect(wait).toBeLessThan(100);
  expect(billedOfWait).toBeGreaterThan(5_000);
  expect(billedOfWait).toBeLessThan(7_000);
});
