/** The documents that readers meet, and the parts of them that tests look at. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');

/** Folders that may be deleted, and are: documents may still name what they held. */
const DELETED = ['console', 'consul'].filter((satellite) => !existsSync(path.join(ROOT, satellite)));

/** Whether a path, or the first word after `leasehold`, belongs to a satellite that this tree does not have. */
export function isOfDeletedSatellite(place: string): boolean {
  return DELETED.some((satellite) => place === satellite || place.startsWith(`${satellite}/`));
}

export interface Document {
  /** From the root, with slashes. */
  readonly path: string;
  readonly text: string;
}

export interface CodeBlock {
  /** Its location, for messages: `docs/timing.md:12`. */
  readonly place: string;
  readonly document: string;
  /** First word behind the fence: `ts`, `sh`, `text`. */
  readonly language: string;
  /** The other words. */
  readonly marks: readonly string[];
  readonly code: string;
  /** The assumed context: the comment `<!-- given … -->` right before it. */
  readonly given: string;
}

/** Everything at the root, the guides, the list of examples, and the figures. */
export function documents(): Document[] {
  return globSync(['*.md', 'docs/**/*.md', 'examples/*.md', 'bench/*.md', '{console,consul}/*.md', 'proof/*.md'], {
    cwd: ROOT,
  })
    .map((file) => file.split(path.sep).join('/'))
    .sort()
    .map((file) => ({ path: file, text: readFileSync(path.join(ROOT, file), 'utf8') }));
}

const FENCE = /^(?<fence>`{3,})(?<info>[^\n`]*)\n(?<code>.*?)^\k<fence>[ \t]*$/gms;
const GIVEN = /<!-- given\n(?<given>(?:(?!-->).)*)-->\s*$/s;

export function codeBlocks({ path: document, text }: Document): CodeBlock[] {
  return [...text.matchAll(FENCE)].map((found) => {
    const before = text.slice(0, found.index);
    const { info = '', code = '' } = found.groups ?? {};
    const [language = '', ...marks] = info.trim().split(/\s+/);
    return {
      place: `${document}:${before.split('\n').length}`,
      document,
      language,
      marks,
      code,
      given: GIVEN.exec(before)?.groups?.given ?? '',
    };
  });
}

/** The text without its code, which leaves links and headings. */
export function prose({ text }: Document): string {
  return text.replace(FENCE, '');
}

/** `code` within sentences. */
export function inlineCode(document: Document): string[] {
  return [...prose(document).matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, code = '']) => code);
}

/** A block of TypeScript with what the reader is to imagine around it, as a module, whatever it imports. */
export function programOf({ given, code }: CodeBlock): string {
  const program = /^…$/m.test(given) ? given.replace(/^…$/m, () => code) : `${given}${code}`;
  return `${program}\nexport {};\n`;
}

/** Returns a block's documented output: the `text output` block after it, or an empty string. */
export function outputBehind(block: CodeBlock, blocks: readonly CodeBlock[]): string {
  const next = blocks[blocks.indexOf(block) + 1];
  const isOutput = next?.document === block.document && next.language === 'text' && next.marks.includes('output');
  return isOutput ? next.code.trimEnd() : '';
}
