/** Wraps help at 80 columns. commander wraps descriptions, but neither our own text nor long names of commands. */

export const HELP_COLUMNS = 80;

/** Wraps paragraphs and indented lines that are too wide, and leaves all others as they are. */
export function fitted(help: string): string {
  return blocksOf(help.split('\n'))
    .map((block) => (block.every((line) => line.length <= HELP_COLUMNS) ? block.join('\n') : wrapped(block.join(' '))))
    .join('\n');
}

/** A paragraph is one block; a line that is indented or empty is its own. */
function blocksOf(lines: readonly string[]): string[][] {
  const blocks: string[][] = [];
  let isOpen = false;
  for (const line of lines) {
    const isProse = /^\S/.test(line);
    if (isProse && isOpen) blocks.at(-1)?.push(line);
    else blocks.push([line]);
    isOpen = isProse;
  }
  return blocks;
}

function wrapped(text: string): string {
  const [, before = '', command, comment = ''] = /^( *)\$ (.*?)(?: {2,}(#.*))?$/.exec(text) ?? [];
  if (command !== undefined) {
    // A shell word stays on one line.
    const words = command.match(/(?:'[^']*'|"[^"]*"|\S)+/g) ?? [];
    const lines = wordsInLines(words, { first: `${before}$ `, next: `${before}    `, broken: ' \\' });
    return comment === '' ? lines : `${before}${comment}\n${lines}`;
  }
  // Names of commands and codes have their own column.
  const first = /^ *(?:\S.{0,43}? {2,})?/.exec(text)?.[0] ?? '';
  return wordsInLines(text.slice(first.length).split(' '), { first, next: ' '.repeat(first.length), broken: '' });
}

/** @param broken ends each line except the last */
function wordsInLines(
  words: readonly string[],
  { first, next, broken }: { readonly first: string; readonly next: string; readonly broken: string },
): string {
  const lines: string[] = [];
  let line = first;
  for (const word of words) {
    const isEmpty = line === first || line === next;
    if (!isEmpty && line.length + 1 + word.length + broken.length > HELP_COLUMNS) {
      lines.push(line + broken);
      line = next + word;
    } else line += isEmpty ? word : ` ${word}`;
  }
  return [...lines, line].join('\n');
}
