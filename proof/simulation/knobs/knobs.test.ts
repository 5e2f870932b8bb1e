/** Each numeric constant of the product has a range, or a reason to have none. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { constantsIn, numericNamesIn } from './constants.ts';
import { FIXED, KNOBS } from './knobs.ts';
import { turnable } from './turn.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const CONSTANTS = constantsIn(['shared', 'functions', 'infra']).map(({ file, name }) => `${file} ${name}`);
const FOLDERS = FIXED.flatMap(({ of }) => Object.keys(of).filter((place) => place.endsWith('/')));
const LISTED = [
  ...Object.entries(KNOBS).flatMap(([file, knobs]) => Object.keys(knobs).map((name) => `${file} ${name}`)),
  ...FIXED.flatMap(({ of }) =>
    Object.entries(of).flatMap(([file, names]) => names.split(' ').map((name) => `${file} ${name}`)),
  ).filter((line) => !line.endsWith(' *')),
];

describe('numeric constants', () => {
  test('have a range or a reason', () => {
    const unknown = CONSTANTS.filter((line) => !FOLDERS.some((folder) => line.startsWith(folder)));

    expect(unknown.filter((line) => !LISTED.includes(line))).toEqual([]);
  });

  test('are listed once, and exist', () => {
    expect(LISTED).toEqual([...new Set(LISTED)]);
    expect(LISTED.filter((line) => !CONSTANTS.includes(line))).toEqual([]);
    for (const folder of FOLDERS) expect(CONSTANTS.some((line) => line.startsWith(folder))).toBe(true);
  });

  test.each(Object.keys(KNOBS))('of %s can be turned', (file) => {
    const source = readFileSync(path.join(ROOT, file), 'utf8');

    expect(() => turnable(file, source)).not.toThrow();
  });
});

test.each([
  ['a number', 'const A = 60 * 1_000;', ['A']],
  ['objects and lists', 'const A = { one: { two: 2 } } as const; const [B, C] = [1, 2];', ['A', 'B', 'C']],
  ['one computed from another', 'const A = 2 * LONGEST_MS;', ['A']],
  ['no text, no function, no variable', "const A = '1'; const b = () => 1; let c = 1; const d = new Set([1]);", []],
])('a constant is %s', (_what, source, names) => {
  expect(numericNamesIn('source.ts', source)).toEqual(names);
});
