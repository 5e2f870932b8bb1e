/** Links between the documents, to files of the repository, and to headings: each leads somewhere. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Document } from '../support/documents.ts';
import { ROOT, documents, isOfDeletedSatellite, prose } from '../support/documents.ts';

const LINK = /\]\(([^()\s]+)(?:\s+"[^"]*")?\)|<(?:img|a|source)\b[^>]*?\b(?:src|href|srcset)="([^"]+)"/g;

function linksOf(document: Document): string[] {
  return [...prose(document).matchAll(LINK)].map(([, inText, inTag]) => inText ?? inTag ?? '');
}

/** As forges make them: lower case, no punctuation, hyphens for blanks, a number behind the second of a kind. */
function anchorsOf(document: Document): Set<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, heading = ''] of prose(document).matchAll(/^#{1,6} +(.+)$/gm)) {
    const slug = heading
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

/** Returns any possible target of a link; a folder has no headings. */
function onDisk(target: string): Document | undefined {
  const file = path.join(ROOT, target);
  if (!existsSync(file)) return undefined;
  return { path: target, text: statSync(file).isDirectory() ? '' : readFileSync(file, 'utf8') };
}

function brokenLinks(document: Document): string[] {
  return linksOf(document).flatMap((link) => {
    if (/^[a-z][a-z+.-]*:/i.test(link)) return [];
    const [file = '', anchor] = link.split('#', 2);
    const target =
      file === '' ? document.path : path.posix.normalize(path.posix.join(path.posix.dirname(document.path), file));
    if (target.startsWith('..')) return [`${document.path} links to ${link}, which is outside of the repository`];
    if (isOfDeletedSatellite(target)) return [];
    const there = target === document.path ? document : onDisk(target);
    if (there === undefined) return [`${document.path} links to ${link}: there is no ${target}`];
    const isFound = anchor === undefined || anchorsOf(there).has(anchor);
    return isFound ? [] : [`${document.path} links to ${link}: there is no such heading`];
  });
}

const all = documents();

describe('links', () => {
  test('lead to existing files and headings in all documents', () => {
    expect(all.flatMap((document) => brokenLinks(document))).toEqual([]);
  });

  test('lead from the index of the guides to each of them', () => {
    const index = all.find(({ path: file }) => file === 'docs/README.md');
    const guides = all.filter(({ path: file }) => file.startsWith('docs/') && file !== 'docs/README.md');

    const linked = new Set(index === undefined ? [] : linksOf(index));
    expect(guides.map(({ path: file }) => path.posix.basename(file)).filter((file) => !linked.has(file))).toEqual([]);
  });
});

describe('the check itself', () => {
  const planted = (text: string): string[] => brokenLinks({ path: 'docs/planted.md', text });

  test.each([
    ['a file that is not there', '[x](missing.md)'],
    ['a heading that is not there', '[x](../ARCHITECTURE.md#no-such-heading)'],
    ['a heading of its own that is not there', '# Here\n\n[x](#there)'],
    ['a picture that is not there', '<img src="missing.svg" alt="x">'],
    ['a way out', '[x](../../elsewhere.md)'],
  ])('finds %s', (_what, text) => {
    expect(planted(text)).toHaveLength(1);
  });

  test.each([
    ['a runbook', '[x](operating.md#runbook-dead-tasks)'],
    ['a heading of its own', '# What it *costs*, in `units`\n\n[x](#what-it-costs-in-units)'],
    ['the world', '[x](https://example.com/#anything)'],
    ['code that looks like a link', '```ts\nmap[x](missing.md)\n```'],
  ])('accepts %s', (_what, text) => {
    expect(planted(text)).toEqual([]);
  });
});
