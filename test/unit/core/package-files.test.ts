/** Distinguishes files of the package from files of its users, who may have folders of similar names. */
import path from 'node:path';
import { expect, test } from 'vitest';
import { isPackageFile, packageFile, packageModule } from '../../../shared/core/package-files.ts';

const root = path.resolve(import.meta.dirname, '../../..');

test('a file is found from the root of the package, and a module with its suffix', () => {
  expect(packageFile('console/page')).toBe(path.join(root, 'console/page'));
  expect(packageModule('api/index')).toBe(path.join(root, 'api/index.ts'));
});

test.each([
  ['api/index.ts', true],
  ['shared/core/errors.ts', true],
  ['node_modules/zod/index.js', true],
  ['apiary/index.ts', false],
  ['shared.ts', false],
  ['tasks.ts', false],
  ['../elsewhere/api/index.ts', false],
])('%s of the root is ours: %s', (name, isOurs) => {
  expect(isPackageFile(path.join(root, name))).toBe(isOurs);
});
