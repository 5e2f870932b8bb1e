/** How a bulk is cut into packs. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PACK_INPUT_LIMIT_BYTES } from '../../../../shared/tasks/task/pack.ts';
import { newBulkOf } from '../../../../shared/tasks/bulk/bulk-request.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';

test('keeps the order of the inputs, and each pack within its size and its bytes, as few as these allow', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: PACK_INPUT_LIMIT_BYTES }), { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 1, max: 6 }),
      async (lengths, packSize) => {
        const inputs = lengths.map((length) => 'x'.repeat(length));
        const { packs } = await newBulkOf('work', inputs, { packSize }, { queue: 'q', runtime: systemRuntime });
        const bytesOf = (input: unknown): number => JSON.stringify(input).length;

        expect(packs.flatMap(({ input }) => input)).toEqual(inputs);
        for (const [at, { input }] of packs.entries()) {
          const bytes = input.reduce((sum: number, one) => sum + bytesOf(one), 0);
          expect(input.length).toBeLessThanOrEqual(packSize);
          expect(input.length === 1 || bytes <= PACK_INPUT_LIMIT_BYTES).toBe(true);
          const next = packs[at + 1]?.input[0];
          if (next !== undefined)
            expect(input.length === packSize || bytes + bytesOf(next) > PACK_INPUT_LIMIT_BYTES).toBe(true);
        }
      },
    ),
    { seed: 1, numRuns: 100 },
  );
});
