/** The package runs on Node 22.12, the tests on a later one: what that one does not have is not used. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../..');
const SHIPPED = '{shared,api,cli,functions,infra,local,console,consul}/**/*.ts';
const LATER = /\b(?:(?:Async)?DisposableStack|Promise\.try|RegExp\.escape|Error\.isError|URLPattern|Float16Array)\b/;

test('ships no file with features that Node 22.12 lacks', () => {
  const files = globSync(SHIPPED, { cwd: ROOT });
  const found = files.flatMap((file) => {
    const name = LATER.exec(readFileSync(path.join(ROOT, file), 'utf8'))?.[0];
    return name === undefined ? [] : [`${file}: ${name}`];
  });

  expect(files.length).toBeGreaterThan(400);
  expect(found).toEqual([]);
});
