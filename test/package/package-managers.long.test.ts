/** A CDK stack on the installed package, synthesized under each package manager: the template is the one of npm. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copyConsumer, packPackage, pinned, run } from './packed.ts';

/** Yarn and bun resolve what aws-cdk-lib bundles as well, so this is a release whose bundled packages are all published. */
const CDK = ['aws-cdk-lib@2.270.0', ...pinned('constructs', 'esbuild')];

interface Manager {
  readonly name: string;
  /** As npm has it; npm itself is found. */
  readonly package?: string;
  readonly script?: string;
  readonly add: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  readonly node: readonly string[];
}

const MANAGERS: readonly Manager[] = [
  { name: 'npm', add: ['install', '--no-audit', '--no-fund', '--prefer-offline'], node: ['node'] },
  { name: 'pnpm', package: 'pnpm', script: 'bin/pnpm.mjs', add: ['add', '--ignore-scripts'], node: ['node'] },
  {
    name: 'yarn',
    package: '@yarnpkg/cli-dist',
    script: 'bin/yarn.js',
    add: ['add'],
    files: {
      'yarn.lock': '',
      '.yarnrc.yml': 'enableScripts: false\nenableTelemetry: false\n',
    },
    node: ['yarn', 'node'],
  },
  {
    name: 'bun',
    package: `@oven/bun-${process.platform}-${process.arch}`,
    add: ['add', '--ignore-scripts'],
    node: ['node'],
  },
];

describe('a stack on the installed package', () => {
  let packed: ReturnType<typeof packPackage>;
  beforeAll(() => {
    packed = packPackage();
  });
  afterAll(() => {
    rmSync(packed.folder, { recursive: true, force: true });
  });
  const templates = new Map<string, string>();

  test.each(MANAGERS)('is synthesized under $name, with the template of npm', (manager) => {
    const project = path.join(packed.folder, manager.name);
    const bin = installManager(manager, path.join(packed.folder, `${manager.name}-itself`));
    copyConsumer(project);
    cpSync(packed.tarball, path.join(project, 'leasehold.tgz'));
    for (const [file, text] of Object.entries(manager.files ?? {})) writeFileSync(path.join(project, file), text);
    const where = { cwd: project, bin, env: { YARN_CACHE_FOLDER: path.join(packed.folder, 'yarn-cache') } };

    const leasehold = manager.name === 'yarn' ? 'leasehold@file:./leasehold.tgz' : './leasehold.tgz';
    run(manager.name, [...manager.add, leasehold, ...CDK], where);
    const [program = '', ...args] = manager.node;
    const said = run(program, [...args, 'cdk-app.mjs', 'template.json'], where);

    expect(said).toContain('functions:');
    templates.set(manager.name, withoutHashes(readFileSync(path.join(project, 'template.json'), 'utf8')));
    expect(templates.get(manager.name)).toBe(templates.get('npm'));
    console.log(`${manager.name} ${run(manager.name, ['--version'], where).trim()}: the template is that of npm`);
  });
});

/** A bundle names the folders in which it found modules, so its hash differs between managers. */
function withoutHashes(template: string): string {
  return template.replaceAll(/[0-9a-f]{64}(?=\.zip)/g, 'HASH');
}

/** Pnpm and Yarn are scripts for Node, and bun is a program. @returns the folder to put first on the PATH */
function installManager({ name, package: found, script }: Manager, folder: string): string {
  const bin = path.join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  if (found === undefined) return bin;
  writeFileSync(path.join(folder, 'package.json'), '{}');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  run('npm', ['install', ...options, found], { cwd: folder });
  const program = path.join(folder, 'node_modules', found, script ?? `bin/${name}`);
  const starts = script === undefined ? `exec "${program}"` : `exec node "${program}"`;
  writeFileSync(path.join(bin, name), `#!/bin/sh\n${starts} "$@"\n`, { mode: 0o755 });
  // As its own installer names it; the CDK calls it so.
  if (name === 'bun') writeFileSync(path.join(bin, 'bunx'), `#!/bin/sh\nexec "${program}" x "$@"\n`, { mode: 0o755 });
  return bin;
}
