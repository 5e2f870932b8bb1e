import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import type { Sequencer } from '../../../../shared/core/lease/sequencer.ts';
import { formatSequencer, parseSequencer } from '../../../../shared/core/lease/sequencer.ts';

const sequencers: fc.Arbitrary<Sequencer> = fc.record({
  table: fc.string({ minLength: 1 }),
  kind: fc.constantFrom('lock', 'task', 'semaphore'),
  key: fc.string({ minLength: 1, unit: 'binary' }).filter((text) => text.isWellFormed()),
  leaseCounter: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  session: fc.uuid(),
});

describe('a sequencer', () => {
  test('comes back as it was, whatever its parts are made of', () => {
    fc.assert(
      fc.property(sequencers, (sequencer) => {
        expect(parseSequencer(formatSequencer(sequencer), sequencer.table)).toEqual(sequencer);
      }),
      { numRuns: 1_000, seed: 20_261_123 },
    );
  });

  test('rejects a sequencer with any character changed', () => {
    fc.assert(
      fc.property(sequencers, fc.nat(), fc.string({ minLength: 1, maxLength: 1 }), (sequencer, at, character) => {
        const text = formatSequencer(sequencer);
        const position = at % text.length;
        fc.pre(text[position] !== character);
        const changed = text.slice(0, position) + character + text.slice(position + 1);
        expect(() => parseSequencer(changed, sequencer.table)).toThrow(ConfigurationError);
      }),
      { numRuns: 1_000, seed: 20_261_123 },
    );
  });

  test('rejects a sequencer that is not a string', () => {
    for (const nothing of [undefined, null, 7, {}, '', ':::::::'])
      expect(() => parseSequencer(nothing as never, 't')).toThrow('not a sequencer');
  });

  test('rejects an invented sequencer with a matching digest', () => {
    const body = 'leasehold-1:t:lock:%E0:1:s';
    const digest = hash('sha256', body, 'base64url').slice(0, 12);

    expect(() => parseSequencer(`${body}:${digest}`, 't')).toThrow(ConfigurationError);
  });

  test('rejects a sequencer of another table, and names both', () => {
    const text = formatSequencer({ table: 'blue', kind: 'lock', key: 'k', leaseCounter: 1, session: 's' });

    expect(() => parseSequencer(text, 'green')).toThrow('belongs to table blue, and this is table green');
  });
});
