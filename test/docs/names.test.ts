/** Files, folders and names of the code that documents mention: each is there, and a symbol that is said to be in a file is in it. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Document } from '../support/documents.ts';
import { ROOT, documents, inlineCode, isOfDeletedSatellite } from '../support/documents.ts';

const FOLDERS = [
  ...['api', 'bench', 'cli', 'console', 'consul', 'docs', 'examples', 'functions', 'infra', 'local', 'release'],
  ...['proof', 'shared', 'test'],
];
const SOURCES = `{${FOLDERS.join(',')}}/**/*.{ts,mjs,js,md,css,html}`;
const PLACE = new RegExp(`^(?:${FOLDERS.join('|')})/`);
const BARE_FILE = /^[\w-]+(?:\.\w+)*\.(?:ts|mjs|md|css|svg)$/;
/** `a`, `b` and `c` in `shared/x.ts` */
const PLACED = /(?<symbols>`[^`\n]+`(?:(?:, | and )`[^`\n]+`)*) in `(?<place>[^`\n]+\.(?:ts|md))`/g;
/** Long enough, and shaped so, that no word of a sentence is taken for a name of the code. */
const SYMBOL = /^#?[A-Za-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+$|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/;
/** Names of the services that the guides compare with. */
const OF_OTHERS = new Set(['LockDelay', 'HeadObject', 'INCR', 'EXPIRE', 'ChangeMessageVisibility', 'DeleteMessage']);
const INVARIANT = /^\| (?<id>I\d+b?|[A-Z]{3,}) \| (?<says>[^|]+) \| (?<keptBy>[^|]+) \| (?<noticedBy>[^|]+) \|$/gm;
const RULES = 'proof/simulation/invariants';

const files = globSync(SOURCES, { cwd: ROOT, exclude: ['**/node_modules/**'] }).map((file) =>
  file.split(path.sep).join('/'),
);
const texts = new Map(files.map((file) => [file, readFileSync(path.join(ROOT, file), 'utf8')]));
const bareNames = new Set([...files, ...globSync('*.*', { cwd: ROOT })].map((file) => path.posix.basename(file)));
/** Tests may mention names that do not exist. */
const words = new Set(
  [...texts]
    .filter(([file]) => !file.endsWith('.md') && !/^(?:test|proof)\/|^\w+\/test\//.test(file))
    .flatMap(([, text]) => text.match(/[A-Za-z_$][\w$]*/g) ?? []),
);

/** `shared/lock/{remote,prefix}.ts` is two files, `infra/*` any number of them. */
function isThere(place: string): boolean {
  const [, before = place, list, after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(place) ?? [];
  const alternatives = list === undefined ? [place] : list.split(',').map((one) => `${before}${one.trim()}${after}`);
  return alternatives.every(
    (one) =>
      isOfDeletedSatellite(one) ||
      (one.includes('*') ? globSync(one, { cwd: ROOT }).length > 0 : existsSync(path.join(ROOT, one))),
  );
}

function placesOf(document: Document): string[] {
  return inlineCode(document).filter((code) => PLACE.test(code) && !/[\s…<]/.test(code.replace(/\{.*\}/, '')));
}

function missingPlaces(document: Document): string[] {
  const bare = inlineCode(document).filter((code) => BARE_FILE.test(code) && !existsSync(path.join(ROOT, code)));
  return [...placesOf(document).filter((place) => !isThere(place)), ...bare.filter((name) => !bareNames.has(name))].map(
    (place) => `${document.path}: there is no ${place}`,
  );
}

/** Files that a source names in a comment or a text. Relative ones are the compiler's business. */
function missingInSource([file, text]: readonly [string, string]): string[] {
  const named = [...text.matchAll(/`([\w-]+\/[\w./-]+\.(?:ts|mjs|md|tla))`/g)].map(([, place = '']) => place);
  return named.filter((place) => PLACE.test(place) && !isThere(place)).map((place) => `${file}: there is no ${place}`);
}

function missingSymbols(document: Document): string[] {
  return inlineCode(document)
    .filter((code) => SYMBOL.test(code) && !words.has(code.replace('#', '')) && !OF_OTHERS.has(code))
    .map((symbol) => `${document.path}: nothing is named ${symbol}`);
}

function misplacedSymbols({ path: where, text }: Pick<Document, 'path' | 'text'>): string[] {
  return [...text.matchAll(PLACED)].flatMap(({ groups: { symbols = '', place = '' } = {} }) => {
    const source = texts.get(place);
    if (source === undefined) return PLACE.test(place) ? [`${where}: there is no ${place}`] : [];
    return [...symbols.matchAll(/`([^`]+)`/g)]
      .filter(([, symbol = '']) => !source.includes(symbol))
      .map(([, symbol = '']) => `${where}: ${place} has no ${symbol}`);
  });
}

const all = documents();

describe('names in documents', () => {
  test('name existing files and folders', () => {
    expect(all.flatMap(missingPlaces)).toEqual([]);
  });

  test('are right in sources, too', () => {
    const sources = [...texts].filter(([file]) => !file.endsWith('.md') && !file.startsWith('test/docs/'));

    expect(sources.flatMap(missingInSource)).toEqual([]);
  });

  test('name existing code', () => {
    expect(all.flatMap(missingSymbols)).toEqual([]);
  });

  test('stand in the file that is given with them', () => {
    expect(all.flatMap(misplacedSymbols)).toEqual([]);
  });

  test('are found at all', () => {
    expect(all.flatMap(placesOf).length).toBeGreaterThan(60);
    expect(all.flatMap(({ text }) => [...text.matchAll(PLACED)]).length).toBeGreaterThan(60);
  });
});

test('keeps ARCHITECTURE short: decisions, figures and runbooks have their own documents', () => {
  const text = all.find(({ path: file }) => file === 'ARCHITECTURE.md')?.text ?? '';

  expect(text.split(/\s+/).length).toBeLessThanOrEqual(3_000);
});

describe('the invariants of ARCHITECTURE', () => {
  const text = all.find(({ path: file }) => file === 'ARCHITECTURE.md')?.text ?? '';
  const rows = [...text.matchAll(INVARIANT)].map(({ groups: { id = '', keptBy = '', noticedBy = '' } = {} }) => {
    return { id, keptBy, noticedBy };
  });

  test('are numbered without a gap', () => {
    const numbers = new Set(rows.map(({ id }) => id));
    expect(Array.from({ length: 27 }, (_, n) => `I${n}`).filter((id) => !numbers.has(id))).toEqual([]);
  });

  test('are all that the simulator judges by', () => {
    const judged = files
      .filter((file) => file.startsWith(`${RULES}/`))
      .flatMap((file) => [...(texts.get(file) ?? '').matchAll(/report\(\s*'(I\d+b?|[A-Z]{3,})'/g)])
      .map(([, id = '']) => id);
    const known = new Set(rows.map(({ id }) => id));
    expect([...new Set(judged)].filter((id) => !known.has(id))).toEqual([]);
  });

  test.each(rows)('$id leads to a line and to a rule', ({ id, keptBy, noticedBy }) => {
    expect([...keptBy.matchAll(PLACED)].length).toBeGreaterThan(0);

    const rules = [...noticedBy.matchAll(/`([^`]+)`/g)].map(([, rule = '']) =>
      PLACE.test(rule) ? rule : `${RULES}/${rule}`,
    );
    expect(rules.filter((rule) => !texts.has(rule))).toEqual([]);
    const named = rules.filter((rule) => rule.startsWith(RULES));
    expect(named.filter((rule) => !(texts.get(rule) ?? '').includes(id))).toEqual([]);
  });
});
