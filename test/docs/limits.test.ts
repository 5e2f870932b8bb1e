/** The numbers of the guide to limits agree with the code. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/documents.ts';

const UNITS: Readonly<Record<string, number>> = {
  KB: 1_024,
  MB: 1_024 ** 2,
  ms: 1,
  s: 1_000,
  minutes: 60_000,
  day: 86_400_000,
  days: 86_400_000,
};
const ROW = /^\| (?<what>[^|]+) \| (?<limit>[^|]+) \| `(?<constant>[A-Z_]+)` in `(?<file>[^`]+)` \|$/gm;

interface Limit {
  readonly what: string;
  readonly said: number;
  readonly constant: string;
  readonly file: string;
}

/** `16 KB as JSON` is 16,384; a word that is not a unit counts ones. */
function numberIn(text: string): number {
  const [, digits = '', unit = ''] = /^([\d,]+)\s*(\w*)/.exec(text) ?? [];
  return Number(digits.replaceAll(',', '')) * (UNITS[unit] ?? 1);
}

function limitsOf(text: string): Limit[] {
  return [...text.matchAll(ROW)].map(({ groups: { what = '', limit = '', constant = '', file = '' } = {} }) => {
    return { what, said: numberIn(limit), constant, file };
  });
}

/** Returns the value of a constant, exported or not: a product of numbers, and of constants in the same file. */
function valueOf(constant: string, file: string): number {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  const [, expression] = new RegExp(`const ${constant} = ([^;]+);`).exec(text) ?? [];
  if (expression === undefined) throw new Error(`${file} has no constant ${constant}`);
  return expression
    .split('*')
    .map((factor) => factor.trim())
    .map((factor) => (/^[\d_]+$/.test(factor) ? Number(factor.replaceAll('_', '')) : valueOf(factor, file)))
    .reduce((product, factor) => product * factor, 1);
}

describe('docs/limits.md', () => {
  const limits = limitsOf(readFileSync(path.join(ROOT, 'docs/limits.md'), 'utf8'));

  test.each(limits)('says $said for $what', ({ said, constant, file }) => {
    expect(said).toBe(valueOf(constant, file));
  });

  test('is read', () => {
    expect(limits.length).toBeGreaterThan(25);
  });
});
