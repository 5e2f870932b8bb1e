import type { SourceMapping } from 'node:module';
import { SourceMap } from 'node:module';
import { describe, expect, test } from 'vitest';
import { build } from 'esbuild';
import path from 'node:path';
import { trimSourceMap } from '../../infra/source-map.ts';

/** Our own tasks, and a library that they import. */
const stdin = {
  contents: `export * from './tasks.ts'; export { Cron } from 'croner';`,
  resolveDir: path.join(import.meta.dirname, 'fixtures'),
};
const options = { bundle: true, write: false, minify: true, sourcemap: true, platform: 'node', format: 'esm' } as const;

/** Which line each position of the bundle comes from, read by Node's own decoder. */
function positions(map: ConstructorParameters<typeof SourceMap>[0], code: string): (string | undefined)[] {
  const decoder = new SourceMap(map);
  return code.split('\n').flatMap((line, lineNumber) =>
    Array.from(line, (_, column) => {
      const { originalSource, originalLine } = decoder.findEntry(lineNumber, column) as Partial<SourceMapping>;
      return originalSource === undefined ? undefined : `${originalSource}:${originalLine}`;
    }),
  );
}

describe('trimSourceMap', () => {
  test('keeps the line of every position of the kept sources, and lets no dropped one pass for them', async () => {
    const { outputFiles } = await build({ ...options, stdin, outfile: 'out.mjs' });
    const [mapFile, codeFile] = outputFiles;
    const code = codeFile!.text;
    const map = JSON.parse(mapFile!.text) as ConstructorParameters<typeof SourceMap>[0];
    const isOurs = (source: string): boolean => !source.includes('node_modules/');

    const trimmed = trimSourceMap(map, isOurs);

    const before = positions(map, code);
    const after = positions({ ...map, ...trimmed, sources: [...trimmed.sources], names: [] }, code);
    expect(before.filter((position) => position !== undefined && !isOurs(position)).length).toBeGreaterThan(1_000);
    expect(after).toEqual(
      before.map((position) => (position !== undefined && isOurs(position) ? position : undefined)),
    );
    expect(trimmed.sources.every(isOurs)).toBe(true);
  });

  test('lets a dropped source not pass for the kept one on the line above it', () => {
    const map = {
      version: 3,
      file: 'out.mjs',
      sources: ['ours.ts', 'node_modules/theirs.js'],
      sourcesContent: [],
      sourceRoot: '',
      names: [],
      mappings: 'AAAA;ACAA',
    };

    const trimmed = trimSourceMap(map, (source) => source === 'ours.ts');

    expect(positions({ ...map, ...trimmed, sources: [...trimmed.sources], names: [] }, 'a\nb')).toEqual([
      'ours.ts:0',
      undefined,
    ]);
  });

  test('says of a line no more than that it is another', async () => {
    const { outputFiles } = await build({ ...options, stdin, outfile: 'out.mjs' });
    const map = JSON.parse(outputFiles[0]!.text) as ConstructorParameters<typeof SourceMap>[0];
    const whole = trimSourceMap(map, () => true);

    expect(whole.names).toEqual([]);
    expect(whole.mappings.length).toBeLessThan(0.5 * map.mappings.length);
    // A second pass that keeps all sources finds nothing more to trim.
    expect(trimSourceMap(whole, () => true).mappings.replace(/;+$/, '')).toBe(whole.mappings.replace(/;+$/, ''));
  });
});
