/** `proof/rules.md` has each rule of the simulator, with a sentence that its document still contains. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

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

test('lists each rule that can report a violation, once', () => {
  const sources = ['', 'invariants/'].flatMap((folder) =>
    readdirSync(path.join(import.meta.dirname, folder))
      .filter((name) => /^(?!.*\.test\.ts$).*\.ts$/.test(name))
      .map((name) => read(`proof/simulation/${folder}${name}`)),
  );
  const reported = sources.flatMap((source) =>
    [...source.matchAll(/report\(\s*'([A-Z]+\d*b?)'/g)].map(([, id]) => String(id)),
  );

  const measured = sources.flatMap((source) =>
    [...source.matchAll(/(?:measure|stands)\(\s*'([A-Z]+\d*b?)'/g)].map(([, id]) => String(id)),
  );
  const listed = rows.map(({ id }) => id);

  expect(listed).toEqual([...new Set(listed)]);
  expect([...new Set(reported)].filter((id) => !listed.includes(id))).toEqual([]);
  expect(rows.filter(({ id, bound }) => measured.includes(id) && bound === 'none')).toEqual([]);
});

test.each(rows)('$id quotes a sentence of $document, and has a bound', ({ sentence, document, bound }) => {
  expect(document).toMatch(/^(?:README|docs\/[\w-]+)\.md$/);
  expect(read(document)).toContain(sentence);
  expect(bound).not.toBe('');
});
