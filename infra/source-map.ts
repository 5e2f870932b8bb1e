/**
 * Source maps without the parts that stack traces do not need.
 *
 * A complete map doubles the package that Lambda loads, and Node parses it at process start.
 * A stack needs the file and the line of the tasks' code.
 * The code of dependencies, this package among them, keeps its bundled position.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { SourceMapSegment } from '@jridgewell/sourcemap-codec';
import { decode, encode } from '@jridgewell/sourcemap-codec';

interface SourceMap {
  readonly version: number;
  readonly sources: readonly string[];
  readonly names: readonly string[];
  readonly mappings: string;
}

/**
 * Keeps the lines of sources that `keeps` accepts: the map has a segment for each piece of the bundle that comes from another line
 * than the piece before it. Dropped sources map to nothing, so that they are not taken for a kept neighbour.
 * Omits columns, which are most of a map, and names,
 * because the bundler keeps function names, and Node would look for the map's names by columns.
 */
export function trimSourceMap(map: SourceMap, keeps: (source: string) => boolean): SourceMap {
  const kept = map.sources.map((source) => keeps(source));
  /** New numbers of the used sources, in the order of their first use. */
  const numbers = new Map<number, number>();

  /**
   * Source line of the preceding code, kept across lines: Node maps code before a line's first segment by the previous line's last segment.
   */
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
    // Adds an empty line at the end. Without it, Node would assign a last segment without a source to a source.
    mappings: encode([...lines, []]),
  };
}

/** Also of the package's own code where it is not installed: in its repository. */
function isDependency(source: string): boolean {
  const [folder = ''] = path.relative(path.join(import.meta.dirname, '..'), source).split(path.sep);
  return source.includes('node_modules/') || ['api', 'functions', 'shared'].includes(folder);
}

/** After bundling, the bundler runs this file with the path of a map. */
if (process.argv[1] === import.meta.filename) {
  const [file = ''] = process.argv.slice(2);
  const map = JSON.parse(readFileSync(file, 'utf8')) as SourceMap;
  writeFileSync(file, JSON.stringify(trimSourceMap(map, (source) => !isDependency(path.resolve(file, '..', source)))));
}
