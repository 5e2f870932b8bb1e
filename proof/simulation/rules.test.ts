/** `proof/rules.md` has each rule of the simulator, with a sentence that its document still contains. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { MUTANTS } from '../changes/seeded/all.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

const rows = read('proof/rules.md')
  .split('\n')
  .filter((line) => /^\| [A-Z]+\d*b? \|/.test(line))
  .map((line) => {
    const [id = '', sentence = '', document = '', bound = ''] = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    return { id, sentence, document, bound };
  });

/** The rules that a call in the sources of these folders names. */
const named = (call: string, ...folders: readonly string[]): readonly string[] =>
  folders.flatMap((folder) =>
    readdirSync(path.join(import.meta.dirname, folder))
      .filter((name) => /^(?!.*\.test\.ts$).*\.ts$/.test(name))
      .flatMap((name) => [
        ...read(`proof/simulation/${folder}${name}`).matchAll(new RegExp(`${call}\\(\\s*'([A-Z]+\\d*b?)'`, 'g')),
      ])
      .map(([, id]) => String(id)),
  );

test('lists each rule that can report a violation, once', () => {
  const measured = named('(?:measure|stands)', '', 'invariants/');
  const listed = rows.map(({ id }) => id);

  expect(listed).toEqual([...new Set(listed)]);
  expect(named('report', '', 'invariants/').filter((id) => !listed.includes(id))).toEqual([]);
  expect(rows.filter(({ id, bound }) => measured.includes(id) && bound === 'none')).toEqual([]);
});

test('each rule can fail: a seeded bug is named for it, or a test, or it judges costs', () => {
  const caught = [...MUTANTS.flatMap(({ killedBy }) => killedBy), 'L15', 'L18', 'L16'];

  expect(named('report', '', 'invariants/').filter((id) => !caught.includes(id))).toEqual([]);
});

test.each(rows)('$id quotes a sentence of $document, and has a bound', ({ sentence, document, bound }) => {
  expect(document).toMatch(/^(?:README|docs\/[\w-]+)\.md$/);
  expect(read(document)).toContain(sentence);
  expect(bound).not.toBe('');
});
