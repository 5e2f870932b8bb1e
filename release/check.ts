/**
 * `npm run test:package`: uses the package as a stranger would:
 * packed, installed in an empty project, imported in every way that it offers.
 *
 * Each step prints what it saw, and how long it took; the first that fails ends the run with its output.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { OLDEST_CDK } from '../infra/cdk-version.ts';
import type { Engine } from '../local/engine.ts';
import { startEngine } from '../local/engine.ts';
import { messageOf } from '../shared/core/errors.ts';
import { tryContainer, tryDev } from './try-processes.ts';
import { tryProjects } from './try-project.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const CONSUMER = path.join(import.meta.dirname, 'consumer');
/** The first version of `constructs` that the peers accept. */
const OLDEST_CONSTRUCTS = '10.0.5';
/** Beside AWS's client and what it brings. */
const MOST_PACKAGES = 20;
const LEASEHOLD = 'node_modules/leasehold';
/** Maximum sizes: of the download, and of a function that only enqueues, without AWS's client. */
const MOST_PACKED_BYTES = 0.9 * 2 ** 20;
const MOST_ENQUEUER_BYTES = 300 * 1_000;
/** The last version before `OLDEST_CDK`. */
const TOO_OLD_CDK = 'aws-cdk-lib@2.223.0';
const DURABLE_SDK = '@aws/durable-execution-sdk-js';
new Command('npm run test:package').description('Uses the package as a stranger would, in an empty project.').parse();
const project = mkdtempSync(path.join(tmpdir(), 'leasehold-consumer-'));
let engine: Engine | undefined;

try {
  await step('build', () => run('node', ['release/build.ts'], ROOT));
  const tarball = await step('npm pack', () => {
    const [packed] = JSON.parse(run('npm', ['pack', './dist', '--json', '--pack-destination', project], ROOT)) as [
      { readonly filename: string; readonly size: number; readonly entryCount: number },
    ];
    if (packed.size > MOST_PACKED_BYTES) throw new Error(`the package has ${kilobytes(packed.size)}`);
    return {
      say: `${kilobytes(packed.size)} in ${packed.entryCount} files`,
      value: path.join(project, packed.filename),
    };
  });
  const create = await step('npm pack, of create-leasehold', () => {
    const [packed] = JSON.parse(
      run('npm', ['pack', './release/create', '--json', '--pack-destination', project], ROOT),
    ) as [{ readonly filename: string; readonly version: string }];
    if (!path.basename(tarball).endsWith(`-${packed.version}.tgz`)) throw new Error(`its version is ${packed.version}`);
    return { say: packed.filename, value: path.join(project, packed.filename) };
  });
  await step('publint', () => run(bin('publint'), [tarball, '--strict'], ROOT));
  await step('are the types wrong', () => {
    run(bin('attw'), [tarball, '--profile', 'esm-only'], ROOT);
    return 'no, for node16 from ES modules and for bundlers';
  });
  await step('leasehold init, in an empty folder', () => tryProjects({ leasehold: tarball, create }));
  cpSync(CONSUMER, project, { recursive: true });
  await step('npm install', () => {
    install(tarball);
    return { say: installed(path.join(project, 'node_modules')) };
  });
  await step('import from an ES module', () => run('node', ['module.mjs'], project));
  await step('require from CommonJS', () => run('node', ['common.cjs'], project));
  await step('npx leasehold', () => leasehold('cost', '--tasks-per-day', '1e6'));
  // Bare: the front answers in this process, which waits for each command with its event loop blocked.
  engine = await startEngine({ kind: 'embedded', isBare: true });
  const endpoint = ['--endpoint', engine.endpoint];
  await step('a queue of its own, by npx leasehold', () => {
    leasehold('up', ...endpoint);
    leasehold('enqueue', 'greet', '{"name": "world"}', '--id', 'first', '--entry', 'greetings.ts', ...endpoint);
    leasehold('work', '--entry', 'greetings.ts', '--until-drained', ...endpoint);
    const { state, result } = JSON.parse(leasehold('tasks', 'show', 'first', '--json', ...endpoint)) as {
      readonly state: string;
      readonly result: unknown;
    };
    if (state !== 'done') throw new Error(`the task is ${state}`);
    return `a task in TypeScript is done, with the result ${JSON.stringify(result)}`;
  });
  await step('a job under a lock, by npx leasehold', () =>
    leasehold('run', '--lock', 'nightly', ...endpoint, '--', process.execPath, '--print', '"it ran"'),
  );
  const enqueue = (task: string, input: string, at: string, ...options: string[]): void => {
    leasehold('enqueue', task, input, '--endpoint', at, ...options);
  };
  const { endpoint: table } = engine;
  await step('leasehold dev, with a change of code', () => tryDev(project, enqueue));
  await step('the worker of a container', () =>
    tryContainer(project, (task, input, at) => enqueue(task, input, at, '--queue', 'container'), table),
  );
  await step('a function that only enqueues, bundled', () => {
    const bundle = path.join(project, 'enqueuer-bundle.mjs');
    const options = ['--bundle', '--minify', '--platform=node', '--format=esm', '--external:@aws-sdk/*'];
    run(bin('esbuild'), [path.join(project, 'enqueuer.mjs'), ...options, `--outfile=${bundle}`], project);
    const { size } = statSync(bundle);
    if (size > MOST_ENQUEUER_BYTES) throw new Error(`it has ${kilobytes(size)}`);
    return kilobytes(size);
  });
  await step('leasehold/edge, bundled for no platform', () => {
    const bundle = path.join(project, 'edge-bundle.js');
    const entry = path.join(project, 'edge.mjs');
    const options = ['--bundle', '--platform=neutral', '--format=esm', `--outfile=${bundle}`];
    run(bin('esbuild'), [entry, ...options], project);
    return run('node', [bundle], project);
  });
  await step('types, seen from a TypeScript module and from CommonJS', () => {
    install(...typeTools());
    run('node', [path.join(project, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', '.'], project);
    return 'they check, those of the library included';
  });
  await step('leasehold/durable, without the SDK and with it', () => {
    const { status, stderr } = spawnSync(process.execPath, ['durable.mjs'], { cwd: project, encoding: 'utf8' });
    if (status === 0 || !stderr.includes(`Cannot find package '${DURABLE_SDK}'`))
      throw new Error(`without the SDK, it is not named as missing:\n${stderr}`);
    install(...pinned(DURABLE_SDK));
    // The compiler sees the SDK's own types now, and not what stands in for them elsewhere.
    run('node', [path.join(project, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.durable.json'], project);
    return run('node', ['durable.mjs'], project);
  });
  const newest = await step('cdk synth of an app that adopts TaskWorkers', () =>
    synthesize(pinned('aws-cdk-lib', 'constructs', 'esbuild')),
  );
  await step(`cdk synth with the oldest CDK that is accepted, ${OLDEST_CDK}`, () => {
    const { value } = synthesize([`aws-cdk-lib@${OLDEST_CDK}`, `constructs@${OLDEST_CONSTRUCTS}`]);
    if (value !== newest) throw new Error('its template differs from that of the newest');
    return 'the template is identical';
  });
  await step(`cdk synth with ${TOO_OLD_CDK}`, () => {
    install('--legacy-peer-deps', TOO_OLD_CDK);
    const { status, stderr } = spawnSync(process.execPath, ['cdk-app.mjs'], { cwd: project, encoding: 'utf8' });
    if (status === 0 || !stderr.includes('has no Node.js 24 runtime'))
      throw new Error(`not refused by name:\n${stderr}`);
    return 'refused by name';
  });
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
} finally {
  await engine?.stop();
  rmSync(project, { recursive: true, force: true });
}

async function step<Value = undefined>(what: string, work: () => Said<Value> | Promise<Said<Value>>): Promise<Value> {
  const begun = performance.now();
  const result = await work();
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const { say, value } = typeof result === 'string' ? { say: lastLine(result) } : result;
  console.log(`${what} (${seconds} s): ${say}`);
  return value as Value;
}

/** @returns its output */
function run(command: string, args: readonly string[], cwd: string): string {
  const program = command === 'node' ? process.execPath : command;
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (status === 0) return stdout;
  const said = `${stdout}${stderr}${error === undefined ? '' : String(error)}`;
  throw new Error(`${[command, ...args].join(' ')} ended with ${status ?? 'a signal'}:\n${said}`);
}

function install(...packages: readonly string[]): void {
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', ...packages], project);
}

/** @returns the app's template, synthesized with these packages */
function synthesize(packages: readonly string[]): { readonly say: string; readonly value: string } {
  install(...packages);
  const file = path.join(project, 'template.json');
  const said = run('node', ['cdk-app.mjs', file], project);
  return { say: lastLine(said), value: readFileSync(file, 'utf8') };
}

/** As its user types it. */
function leasehold(...args: readonly string[]): string {
  return run('npx', ['--no-install', 'leasehold', ...args], project);
}

function bin(name: string): string {
  return path.join(ROOT, 'node_modules/.bin', name);
}

function typeTools(): string[] {
  return pinned('typescript', '@types/node', '@aws-sdk/client-s3', '@types/aws-lambda');
}

/** The versions that this repository is tested with. */
function pinned(...names: readonly string[]): string[] {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as Record<
    'dependencies' | 'devDependencies',
    Record<string, string>
  >;
  const versions = { ...devDependencies, ...dependencies };
  return names.map((name) => `${name}@${versions[name] ?? ''}`);
}

function installed(folder: string): string {
  const files = globSync('**/*', { cwd: folder }).map((file) => statSync(path.join(folder, file)));
  const bytes = files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
  const { packages } = JSON.parse(readFileSync(path.join(folder, '.package-lock.json'), 'utf8')) as Installed;
  if (existsSync(path.join(folder, 'aws-cdk-lib')))
    throw new Error('the CDK was installed for a user who did not ask for it');
  const ofAws = broughtBy(packages, (name) => name.startsWith('@aws-sdk/'));
  const others = Object.keys(packages).filter((place) => place !== LEASEHOLD && !ofAws.has(place));
  if (others.length > MOST_PACKAGES) throw new Error(`it brings ${others.length} packages: ${others.join(', ')}`);
  return `${others.length} packages, and ${ofAws.size} of AWS's client, ${(bytes / 2 ** 20).toFixed(0)} MB`;
}

/** The install paths of these dependencies and their transitive dependencies. */
function broughtBy(packages: Installed['packages'], isRoot: (name: string) => boolean): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (from: string, names: readonly string[]): void => {
    for (const name of names) {
      const place = [`${from}/node_modules/${name}`, `node_modules/${name}`].find((at) => at in packages);
      if (place === undefined || found.has(place)) continue;
      found.add(place);
      visit(place, Object.keys(packages[place]?.dependencies ?? {}));
    }
  };
  visit(LEASEHOLD, Object.keys(packages[LEASEHOLD]?.dependencies ?? {}).filter(isRoot));
  return found;
}

type Said<Value> = string | { readonly say: string; readonly value?: Value };

interface Installed {
  readonly packages: Readonly<Record<string, { readonly dependencies?: Readonly<Record<string, string>> }>>;
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1024).toFixed(0)} KB`;
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.slice(0, 200) ?? '';
}
