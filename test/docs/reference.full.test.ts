/** The reference is generated from the package's exports: every type that an export mentions is included. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../..');

test('the reference can be made, without a warning', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['release/docs.ts'], { cwd: ROOT, encoding: 'utf8' });

  expect(`${stdout}${stderr}`).toMatch(/^\.leasehold\/docs\/index\.html describes what \d+ entry points export\n$/);
  expect(status).toBe(0);
});
