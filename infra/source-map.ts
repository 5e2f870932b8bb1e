/**
 * Source maps without the parts that stack traces do not need.
 *
 * Nine tenths of a bundle are dependencies, minified by their authors or not, and a map of them doubles the package that Lambda loads
 * and is parsed at every cold start. Stack frames of our own and of the tasks'
 * code are what a person looks for; the rest keeps its bundled position.
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

/** The map of those sources that `keeps`. What is dropped maps to nothing, so that it is not taken for its kept neighbour. */
export function trimSourceMap(map: SourceMap, keeps: (source: string) => boolean): SourceMap {
  const sources = new Renumbering(map.sources);
  const names = new Renumbering(map.names);
  const read = { source: 0, line: 0, column: 0, name: 0 };
  const written = { source: 0, line: 0, column: 0, name: 0 };
  const kept = map.sources.map((source) => keeps(source));

  // Over the ends of lines: Node takes what stands before a line's first segment for the last one of the line before.
  let isMapped = false;
  const lines = map.mappings.split(';').map((line) => {
    let generatedRead = 0;
    let generatedWritten = 0;
    const segments: string[] = [];
    for (const segment of line === '' ? [] : line.split(',')) {
      const [generated = 0, source, originalLine = 0, column = 0, name] = decode(segment);
      generatedRead += generated;
      if (source !== undefined) {
        read.source += source;
        read.line += originalLine;
        read.column += column;
        read.name += name ?? 0;
      }
      const keep = source !== undefined && kept[read.source] === true;
      if (!keep && !isMapped) continue;
      isMapped = keep;
      const numbers = [generatedRead - generatedWritten];
      generatedWritten = generatedRead;
      if (keep) {
        const next = {
          ...read,
          source: sources.of(read.source),
          name: name === undefined ? written.name : names.of(read.name),
        };
        numbers.push(next.source - written.source, next.line - written.line, next.column - written.column);
        if (name !== undefined) numbers.push(next.name - written.name);
        Object.assign(written, next);
      }
      segments.push(numbers.map(encode).join(''));
    }
    return segments.join(',');
  });
  // With an empty line at the end, because Node reads a last segment that maps to nothing as one of a source, unless something follows.
  return { ...map, sources: sources.used, names: names.used, mappings: `${lines.join(';')};` };
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
