import { globSync } from 'node:fs';
import path from 'node:path';
import type { TestStore } from './stores.ts';
import { runOnly } from './stores.ts';

const CONFORMANCE = path.resolve(import.meta.dirname, '../conformance');

/** Runs files of `test/conformance`, of the first tier, on one engine. */
export async function suitesOn(
  engine: TestStore['engine'],
  endpoint: string | null,
  files: readonly string[],
): Promise<void> {
  runOnly(engine, endpoint);
  const found = globSync(files, { cwd: CONFORMANCE }).filter((file) => !/\.(?:full|long)\.test\.ts$/.test(file));
  for (const file of found.toSorted()) await import(path.join(CONFORMANCE, file));
}
