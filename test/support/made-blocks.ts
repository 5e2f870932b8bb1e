/**
 * Blocks of documents that are generated from the code, so that each number is typed once:
 * the lines between `<!-- made: NAME -->` and `<!-- /made -->`. `npx vitest run FILE -u` writes them; review the diff.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { ROOT } from './documents.ts';

const BLOCK = /(<!-- made: (\w+) -->\n).*?(<!-- \/made -->)/gs;

export function textOf(document: string): string {
  return readFileSync(path.join(ROOT, document), 'utf8');
}

/** Compares a document with what `makers`, by name, say of its blocks: each has its block, and each block its maker. */
export async function expectMade(document: string, makers: Readonly<Record<string, () => string>>): Promise<void> {
  const made = textOf(document).replace(BLOCK, (_, begin: string, name: string, end: string) => {
    const make = makers[name];
    if (make === undefined) throw new Error(`nothing makes the block ${name} of ${document}`);
    return `${begin}${make()}\n${end}`;
  });

  expect([...made.matchAll(BLOCK)].map(([, , name]) => name).sort()).toEqual(Object.keys(makers).sort());
  await expect(made).toMatchFileSnapshot(path.join(ROOT, document));
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
