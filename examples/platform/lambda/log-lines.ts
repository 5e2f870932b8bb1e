/** The output of functions, line by line. */
import type { Readable } from 'node:stream';

/** A line longer than this is passed on in pieces, so that a function cannot fill our memory. */
const LONGEST_LINE_CHARACTERS = 256 * 1024;

export function forEachLine(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    lines.forEach((line) => onLine(line.replace(/\r$/, '')));
    if (rest.length > LONGEST_LINE_CHARACTERS) {
      onLine(rest);
      rest = '';
    }
  });
  stream.once('end', () => {
    if (rest !== '') onLine(rest);
  });
}
