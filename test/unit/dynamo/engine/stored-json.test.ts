/** JSON in rows: as text if it is short, deflated if it is long, and the same value from both. */
import { randomBytes } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inflatedByStream } from '../../../../shared/core/runtime/deflate.ts';
import { itemSizeBytes } from '../../../../shared/dynamo/engine/capacity.ts';
import { ItemReader } from '../../../../shared/dynamo/engine/item-reader.ts';
import { SCHEMA_VERSION } from '../../../../shared/dynamo/engine/schema.ts';
import {
  DEFLATE_FROM_BYTES,
  INFLATED_LIMIT_BYTES,
  storedJson,
  storedText,
  textOf,
} from '../../../../shared/dynamo/engine/stored-json.ts';

const readerOf = (input: unknown): ItemReader => new ItemReader({ pk: 'task#q#1', v: SCHEMA_VERSION, input });

describe('storedJson', () => {
  test('any JSON value comes back, short or long, and never takes more bytes than its text', () => {
    const long = fc.array(fc.jsonValue({ stringUnit: 'binary' }), { minLength: 50, maxLength: 300 });
    let deflated = 0;
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue({ stringUnit: 'binary' }), long), (value) => {
        const text = JSON.stringify(value);
        const stored = storedJson(value);
        if (typeof stored !== 'string') deflated++;
        expect(readerOf(stored).json('input')).toEqual(JSON.parse(text));
        expect(itemSizeBytes({ input: stored })).toBeLessThanOrEqual(itemSizeBytes({ input: text }));
      }),
      { numRuns: 300, seed: 20_261_125 },
    );
    expect(deflated).toBeGreaterThan(20);
  });

  test('text of fewer than 700 bytes stays readable, and so does text that deflating makes longer', () => {
    const text = (bytes: number): string => JSON.stringify('x'.repeat(bytes - 2));
    expect(storedText(text(DEFLATE_FROM_BYTES - 1))).toBe(text(DEFLATE_FROM_BYTES - 1));
    expect(storedText(text(DEFLATE_FROM_BYTES))).toBeInstanceOf(Uint8Array);
    // Counted in bytes: 350 letters of two bytes each.
    expect(storedJson('ä'.repeat(DEFLATE_FROM_BYTES / 2))).toBeInstanceOf(Uint8Array);
    const dense = deflateRawSync(randomBytes(1_000))
      .toString('latin1')
      .replaceAll(/[^\0-\x7f]/g, '');
    expect(storedText(dense.slice(0, 20), 0)).toBe(dense.slice(0, 20));
  });
});

const bomb = (bytes: number): Uint8Array => new Uint8Array(deflateRawSync(Buffer.alloc(bytes, ' ')));

describe('inflating', () => {
  test('a small binary that inflates to more than an item can have is an error, and takes no memory', async () => {
    const large = bomb(64 * 1024 * 1024);
    expect(large.byteLength).toBeLessThan(70_000);

    expect(() => textOf(large)).toThrow(`more than ${INFLATED_LIMIT_BYTES} bytes`);
    expect(await inflatedByStream(large, INFLATED_LIMIT_BYTES)).toBeUndefined();
  });

  test.each([
    [INFLATED_LIMIT_BYTES, true],
    [INFLATED_LIMIT_BYTES + 1, false],
  ])('the bound is exact: %i bytes', async (bytes, isRead) => {
    const text = isRead ? ' '.repeat(bytes) : undefined;

    expect(await inflatedByStream(bomb(bytes), INFLATED_LIMIT_BYTES)).toBe(text);
    if (isRead) expect(textOf(bomb(bytes))).toBe(text);
    else expect(() => textOf(bomb(bytes))).toThrow();
  });

  test("the web's stream reads the same as zlib, and refuses the same", async () => {
    const damaged = fc.tuple(fc.nat(400), fc.integer({ min: 1, max: 255 }));
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 2_000 }), fc.option(damaged), async (text, damage) => {
        const bytes = new Uint8Array(deflateRawSync(text));
        if (damage !== null) bytes[damage[0] % bytes.length]! ^= damage[1];
        let expected: string | undefined;
        try {
          expected = textOf(bytes);
        } catch {
          expected = undefined;
        }
        const found = await inflatedByStream(bytes, INFLATED_LIMIT_BYTES);
        // After damage that ends the text early, zlib ignores the rest and the stream does not.
        if (damage === null || found !== undefined) expect(found).toBe(expected);
      }),
      { numRuns: 200, seed: 20_261_125 },
    );
  });
});
