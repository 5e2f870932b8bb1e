/** A sample of the seeded bugs; `npm run mutants` hunts them all. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { Hunt } from './hunt.ts';

/** The canaries: one for each layer, quick to die. */
const CANARIES = ['M1', 'M9', 'M14', 'M21', 'M41'];

describe('a seeded bug', () => {
  test.each(CANARIES)('%s is killed by the invariant named for it', (id) => {
    const script = fileURLToPath(new URL('./hunt.ts', import.meta.url));

    const hunt = JSON.parse(execFileSync(process.execPath, [script, id, '100'], { encoding: 'utf8' })) as Hunt;

    expect(hunt.killer).not.toBeNull();
  });
});
