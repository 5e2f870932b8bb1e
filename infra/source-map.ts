/**
 * Source maps without the parts that stack traces do not need.
 *
 * A map of everything doubles the package that Lambda loads, and is parsed when a process begins.
 * What a person looks for in a stack is the file and the line of our own code and of the tasks';
 * the code of dependencies, minified by their authors or not, keeps its bundled position.
 */
import { readFileSync, writeFileSync } from 'node:fs';

export interface SourceMap {
  readonly version: number;
  readonly sources: readonly string[];
  readonly names: readonly string[];
  readonly mappings: string;
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** The bit of a base-64 digit that says that more digits follow; the five others are its value. */
const MORE = 32;

/**
 * The lines of those sources that `keeps`: where a piece of the bundle comes from another line than the piece before it, the map says so.
 * What is dropped maps to nothing, so that it is not taken for its kept neighbour.
 * Without columns, which are most of a map, and without names:
 * the bundler keeps those of functions, and Node would look for them by columns.
 */
export function trimSourceMap(map: SourceMap, keeps: (source: string) => boolean): SourceMap {
  const sources = new Renumbering(map.sources);
  const read = { source: 0, line: 0 };
  const written = { source: 0, line: 0 };
  const kept = map.sources.map((source) => keeps(source));

  /** The source line of the code before, kept across lines: Node takes what stands before a line's first segment for its last one's. */
  let known: { readonly source: number; readonly line: number } | undefined;
  const lines = map.mappings.split(';').map((line) => {
    let generatedRead = 0;
    let generatedWritten = 0;
    const segments: string[] = [];
    for (const segment of line === '' ? [] : line.split(',')) {
      const [generated = 0, source, originalLine = 0] = decode(segment);
      generatedRead += generated;
      read.source += source ?? 0;
      read.line += originalLine;
      const found = source !== undefined && kept[read.source] === true ? { ...read } : undefined;
      if (found?.source === known?.source && found?.line === known?.line) continue;
      known = found;
      const numbers = [generatedRead - generatedWritten];
      generatedWritten = generatedRead;
      if (found !== undefined) {
        const next = { source: sources.of(found.source), line: found.line };
        numbers.push(next.source - written.source, next.line - written.line, 0);
        Object.assign(written, next);
      }
      segments.push(numbers.map(encode).join(''));
    }
    return segments.join(',');
  });
  // With an empty line at the end, because Node reads a last segment that maps to nothing as one of a source, unless something follows.
  return { ...map, sources: sources.used, names: [], mappings: `${lines.join(';')};` };
}

/** Gives the used ones of a list new numbers, in the order of their first use. */
class Renumbering {
  readonly used: string[] = [];
  private readonly all: readonly string[];
  private readonly numbers = new Map<number, number>();

  constructor(all: readonly string[]) {
    this.all = all;
  }

  of(old: number): number {
    let number = this.numbers.get(old);
    if (number === undefined) {
      number = this.used.push(this.all[old] ?? '') - 1;
      this.numbers.set(old, number);
    }
    return number;
  }
}

function decode(segment: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const character of segment) {
    const digit = DIGITS.indexOf(character);
    value += (digit & (MORE - 1)) * 2 ** shift;
    shift += 5;
    if ((digit & MORE) !== 0) continue;
    numbers.push(value % 2 === 1 ? -(value - 1) / 2 : value / 2);
    value = 0;
    shift = 0;
  }
  return numbers;
}

function encode(number: number): string {
  let rest = number < 0 ? -number * 2 + 1 : number * 2;
  let text = '';
  do {
    const digit = rest % MORE;
    rest = Math.floor(rest / MORE);
    text += DIGITS.charAt(rest > 0 ? digit + MORE : digit);
  } while (rest > 0);
  return text;
}

/** After bundling, the bundler runs this file with the path of a map. */
if (process.argv[1] === import.meta.filename) {
  const [file = ''] = process.argv.slice(2);
  const map = JSON.parse(readFileSync(file, 'utf8')) as SourceMap;
  writeFileSync(file, JSON.stringify(trimSourceMap(map, (source) => !source.includes('node_modules/'))));
}
