/** Messages about a module of tasks that cannot be loaded: why, where, and what to do. By Node itself, in one process for all cases. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const LOAD_MODULE = new URL('../../../shared/tasks/task/load-module.ts', import.meta.url).href;
const COMMON = '{"type": "commonjs"}';
const MODULE = '{"type": "module"}';

/** A folder for each case: its files, of which the first is loaded, and the message. */
const CASES: Readonly<Record<string, readonly [files: Readonly<Record<string, string>>, said: string]>> = {
  fine: [{ 'tasks.mjs': 'export const a = 1; export default 2;' }, 'loaded a, default'],
  throws: [
    { 'tasks.mjs': "\n\nthrow new RangeError('no such queue');" },
    'the module of tasks throws/tasks.mjs cannot be loaded: no such queue (throws/tasks.mjs:3:7)',
  ],
  // The place is in the user's own code.
  inside: [
    {
      'tasks.mjs': "import { fail } from './node_modules/other/index.mjs';\nfail();",
      'node_modules/other/index.mjs': "export const fail = () => {\n  throw new Error('inside');\n};",
    },
    'the module of tasks inside/tasks.mjs cannot be loaded: inside (inside/tasks.mjs:2:1)',
  ],
  common: [
    { 'src/tasks.js': "import 'node:fs';", 'package.json': COMMON },
    'the module of tasks common/src/tasks.js cannot be loaded: Cannot use import statement outside a module: ' +
      'common/package.json says "type": "commonjs"; make it "type": "module", or name the module tasks.mjs',
  ],
  exported: [
    { 'tasks.ts': 'export const a = 1;', 'package.json': COMMON },
    "the module of tasks exported/tasks.ts cannot be loaded: Unexpected token 'export': " +
      'exported/package.json says "type": "commonjs"; make it "type": "module", or name the module tasks.mts',
  ],
  // An inner manifest without a type decides, and a module in the right form has another fault.
  inner: [{ 'src/tasks.js': 'export const a = 1;', 'package.json': COMMON, 'src/package.json': '{}' }, 'loaded a'],
  wrong: [
    { 'tasks.js': 'export const = 1;', 'package.json': MODULE },
    "the module of tasks wrong/tasks.js cannot be loaded: Unexpected token '='",
  ],
  old: [
    { 'tasks.mjs': "throw new Error('odd');" },
    'the module of tasks old/tasks.mjs cannot be loaded: odd (old/tasks.mjs:1:7); ' +
      `Node ${process.versions.node} cannot load .ts files: use Node 22.18 or later, or compile the module`,
  ],
  missing: [
    { 'other.mjs': '' },
    'there is no missing/tasks.mjs: pass the module that defines the tasks, such as src/tasks.ts',
  ],
};

const PROGRAM = `
  const { loadModule } = await import(process.argv[1]);
  const said = {};
  for (const [name, file] of Object.entries(JSON.parse(process.argv[2]))) {
    if (name === 'old') Object.defineProperty(process.features, 'typescript', { value: false });
    said[name] = await loadModule(file).then(
      (exports) => 'loaded ' + Object.keys(exports).filter((one) => one !== 'module.exports').join(', '),
      (error) => error.constructor.name === 'ConfigurationError' ? error.message : 'raw: ' + error.stack,
    );
  }
  console.log(JSON.stringify(said));
`;

let folder = '';
let said: Readonly<Record<string, string>> = {};

beforeAll(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'leasehold-module-')));
  const entries = Object.entries(CASES).map(([name, [files]]) => {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, name, file)), { recursive: true });
      writeFileSync(path.join(folder, name, file), text);
    }
    return [name, path.join(name, name === 'missing' ? 'tasks.mjs' : (Object.keys(files)[0] ?? ''))];
  });
  const argv = ['--input-type=module', '-e', PROGRAM, LOAD_MODULE, JSON.stringify(Object.fromEntries(entries))];
  const out = execFileSync(process.execPath, argv, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  said = JSON.parse(out) as Record<string, string>;
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

test.each(Object.entries(CASES))('a module that is %s', (name, [, wanted]) => {
  expect(said[name]?.replaceAll(`${folder}/`, '')).toBe(wanted);
});
