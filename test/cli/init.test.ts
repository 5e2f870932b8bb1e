/** The project of `leasehold init`, as files; `npm run test:package` makes one from the package and uses it. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Wanted } from '../../cli/init/project.ts';
import { originOf, writeProject } from '../../cli/init/project.ts';
import { packageFile } from '../../shared/core/package-files.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest;
}

function emptyFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-init-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** @returns the new project's folder */
function created(name: string, runner: Wanted['runner'] = 'node', origin = { specifier: '^0.1.0' }): string {
  const folder = path.join(emptyFolder(), name);
  writeProject({ folder, runner, origin });
  return folder;
}

test.each([
  ['shop', 'shop', 'Shop'],
  ['My Shop_2', 'my-shop-2', 'MyShop2'],
  ['2nd', '2nd', 'Stack2nd'],
  ['leasehold', 'my-tasks', 'MyTasks'],
  ['…', 'my-tasks', 'MyTasks'],
])('names the project in %s', (folder, name, stack) => {
  const project = created(folder);

  expect(manifestIn(project).name).toBe(name);
  expect(readFileSync(path.join(project, 'stack.ts'), 'utf8')).toContain(`new Stack(new App(), '${stack}')`);
});

test.each([
  ['node', 'node --test', 'node:test', false],
  ['vitest', 'vitest run', 'vitest', true],
] as const)('tests with %s', (runner, command, module, isInstalled) => {
  const project = created('shop', runner);

  const { scripts, devDependencies } = manifestIn(project);
  expect(scripts.test).toBe(command);
  expect('vitest' in devDependencies).toBe(isInstalled);
  expect(readFileSync(path.join(project, 'test/tasks.test.ts'), 'utf8')).toContain(`from '${module}'`);
});

test('installs the versions that this repository is tested with', () => {
  const ours = manifestIn(packageFile(''));
  const { dependencies, devDependencies } = manifestIn(created('shop', 'vitest'));
  const { leasehold, ...others } = { ...dependencies, ...devDependencies };

  expect(leasehold).toBe('^0.1.0');
  for (const [name, version] of Object.entries(others))
    expect(version, name).toBe(`^${{ ...ours.dependencies, ...ours.devDependencies }[name]}`);
});

test('writes nothing over an existing file', () => {
  const folder = emptyFolder();
  writeFileSync(path.join(folder, 'stack.ts'), 'mine');

  expect(() => writeProject({ folder, runner: 'node', origin: { specifier: '*' } })).toThrow(
    `stack.ts exists in ${folder}: pass a new folder; nothing was written`,
  );
  expect(readFileSync(path.join(folder, 'stack.ts'), 'utf8')).toBe('mine');
});

test.each([
  ['a registry', 'https://registry.example/leasehold.tgz', { specifier: '^0.1.0' }],
  ['no file of npm', undefined, { specifier: '^0.1.0' }],
  ['a tarball', 'file:../leasehold-0.1.0.tgz', { specifier: 'file:leasehold-0.1.0.tgz' }],
])('takes Leasehold from %s like the copy that runs', (_, resolved, origin) => {
  const folder = emptyFolder();
  const modules = path.join(folder, 'npx/node_modules');
  const root = path.join(modules, 'leasehold');
  mkdirSync(root, { recursive: true });
  writeFileSync(path.join(root, 'package.json'), '{"version":"0.1.0"}');
  writeFileSync(path.join(folder, 'leasehold-0.1.0.tgz'), 'packed');
  const packages = { 'node_modules/leasehold': { resolved } };
  if (resolved !== undefined) writeFileSync(path.join(modules, '.package-lock.json'), JSON.stringify({ packages }));

  const found = originOf(root);

  expect(found).toMatchObject(origin);
  if (found.tarball === undefined) return;
  const project = created('shop', 'node', found);
  expect(readFileSync(path.join(project, 'leasehold-0.1.0.tgz'), 'utf8')).toBe('packed');
});

test('is refused in a clone, with the command that packs', () => {
  expect(() => originOf(packageFile(''))).toThrow('this is a clone: npm run build && npm pack ./dist, then npx ');
});
