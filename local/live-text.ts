/** Replaceable text on a terminal, for progress and live pictures. */
import { stripVTControlCharacters } from 'node:util';
import { erase } from 'sisteransi';

interface LiveText {
  /** Replaces the text shown before. */
  show(text: string): void;
  /** Writes a line above the text, where it stays. */
  persist(line: string): void;
  /** Removes the text. */
  clear(): void;
  /** Leaves the text where it is. */
  end(): void;
}

/** Lines are cut to the terminal's width, because a folded line would be erased only in part. */
export function liveText(terminal: NodeJS.WriteStream): LiveText {
  let shown = '';
  const draw = (text: string, above = ''): void => {
    const erased = shown === '' ? '' : erase.lines(shown.split('\n').length);
    terminal.write(`${erased}${above}${text}`);
    shown = text;
  };
  return {
    show: (text) => draw(fitted(`${text}\n`, terminal)),
    persist: (line) => draw(shown, `${line}\n`),
    clear: () => draw(''),
    end: () => {
      shown = '';
    },
  };
}

function fitted(text: string, { columns, rows }: NodeJS.WriteStream): string {
  const lines = text.split('\n').map((line) => cut(line, columns));
  return lines.slice(-rows).join('\n');
}

/** Removes the colours of a line that is too long, so that all of them are closed. */
function cut(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  return plain.length < columns ? line : `${plain.slice(0, Math.max(0, columns - 2))}…`;
}
