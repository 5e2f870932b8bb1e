/**
 * Source maps without the parts that stack traces do not need.
 *
 * A complete map doubles the package that Lambda loads, and is parsed at process start.
 * A stack needs the file and the line of our own code and the tasks';
 * the code of dependencies, minified or not, keeps its bundled position.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { SourceMapSegment } from '@jridgewell/sourcemap-codec';
import { decode, encode } from '@jridgewell/sourcemap-codec';

interface SourceMap {
  readonly version: number;
  readonly sources: readonly string[];
  readonly names: readonly string[];
  readonly mappings: string;
}

/**
 * The lines of those sources that `keeps`: where a piece of the bundle comes from another line than the piece before it, the map says so.
 * What is dropped maps to nothing, so that it is not taken for its kept neighbour.
 * Without columns, which are most of a map, and without names:
 * the bundler keeps those of functions, and Node would look for them by columns.
 */
export function trimSourceMap(map: SourceMap, keeps: (source: string) => boolean): SourceMap {
  const kept = map.sources.map((source) => keeps(source));
  /** New numbers of the sources that are used, in the order of their first use. */
  const numbers = new Map<number, number>();

  /** The source line of the code before, kept across lines: Node takes what stands before a line's first segment for its last one's. */
  let known: { readonly source: number; readonly line: number } | undefined;
  const lines = decode(map.mappings).map((line) => {
    const segments: SourceMapSegment[] = [];
    for (const [generated, source = -1, originalLine = 0] of line) {
      const found = kept[source] === true ? { source, line: originalLine } : undefined;
      if (found?.source === known?.source && found?.line === known?.line) continue;
      known = found;
      if (found === undefined) {
        segments.push([generated]);
        continue;
      }
      const number = numbers.get(found.source) ?? numbers.size;
      numbers.set(found.source, number);
      segments.push([generated, number, found.line, 0]);
    }
    return segments;
  });
  return {
    ...map,
    sources: [...numbers.keys()].map((used) => map.sources[used] ?? ''),
    names: [],
    // With an empty line at the end, because Node reads a last segment that maps to nothing as one of a source, unless something follows.
    mappings: encode([...lines, []]),
  };
}

/** After bundling, the bundler runs this file with the path of a map. */
if (process.argv[1] === import.meta.filename) {
  const [file = ''] = process.argv.slice(2);
  const map = JSON.parse(readFileSync(file, 'utf8')) as SourceMap;
  writeFileSync(file, JSON.stringify(trimSourceMap(map, (source) => !source.includes('node_modules/'))));
}
