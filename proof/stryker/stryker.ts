/**
 * `npm run stryker -- FILE... [--tests FOLDER...] [--workers N] [--json]`
 *
 * Changes each operator, condition, block and value of these files, one at a time, runs the unit tests nearest to the file,
 * and lists the changes that no test notices. `FILE:10-40` takes some lines of a file.
 *
 * `npm run stryker -- --draw N [--seed TEXT] [--workers N] [--json]` judges N changes of `shared/` instead, drawn by the commit's
 * hash: whether the unit tests nearest to the file, the conformance tests and a few simulated histories notice each.
 *
 * Stryker's packages are this folder's own, and are installed by its first run: no other command needs them.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { wholeNumber } from '../../cli/arguments.ts';
import { draw } from './draw.ts';
import { judgeDrawn } from './judge-drawn.ts';
import { testsOf } from './tests-of.ts';

interface Flags {
  readonly tests?: readonly string[];
  readonly workers: number;
  readonly draw?: number;
  readonly seed?: string;
  readonly json: boolean;
}

interface MutantReport {
  readonly status: string;
  readonly mutatorName: string;
  readonly replacement: string;
  readonly location: { readonly start: { readonly line: number; readonly column: number } };
}

interface Judged {
  readonly file: string;
  readonly mutants: number;
  readonly killed: number;
  readonly survivors: readonly string[];
}

const ROOT = path.resolve(import.meta.dirname, '../..');
const PACKAGES = path.join(import.meta.dirname, 'node_modules/@stryker-mutator');
const STRYKER = path.join(PACKAGES, 'core/bin/stryker.js');

const command = new Command('npm run stryker --')
  .description(
    'Changes source files one operator at a time, and lists the changes that their unit tests do not notice.',
  )
  .argument('[files...]', 'paths in the repository, with lines if wished: FILE:10-40')
  .option('--tests <folders...>', 'run these instead of the nearest unit tests')
  .option('--workers <n>', 'mutants side by side', wholeNumber(1), 1)
  .option('--draw <n>', 'judge so many of all changes of shared/, drawn by the hash of the commit', wholeNumber(1))
  .option('--seed <text>', 'draw by this instead')
  .option('--json', 'one JSON object at the end', false);

async function main(files: readonly string[], flags: Flags): Promise<void> {
  if (!existsSync(STRYKER)) install();
  if (flags.draw !== undefined) {
    const seed = flags.seed ?? head();
    console.log(`drawn by ${seed}`);
    await judgeDrawn(await draw(flags.draw, seed, PACKAGES), flags);
    return;
  }
  if (files.length === 0) command.error('error: name files, or say how many changes to draw (--draw)', { exitCode: 2 });
  const reports: Judged[] = [];
  for (const file of files) {
    const report = await judged(file, flags);
    for (const survivor of report.survivors) console.log(survivor);
    console.log(`${file}: ${report.killed} of ${report.mutants} killed`);
    reports.push(report);
  }
  if (flags.json) console.log(JSON.stringify({ files: reports }));
}

/** The hash of the commit. */
function head(): string {
  return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
}

function install(): void {
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts'], { cwd: import.meta.dirname, stdio: 'inherit' });
  if (status !== 0) throw new Error(`npm ci in proof/stryker ended with ${status}`);
}

async function judged(target: string, { tests, workers }: Flags): Promise<Judged> {
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-stryker-'));
  const [file = '', lines] = target.split(':');
  try {
    const [report, config] = [path.join(folder, 'report.json'), path.join(folder, 'stryker.json')];
    writeFileSync(
      config,
      JSON.stringify(configOf(target, { report, workers, scratch: path.join(folder, 'sandboxes') })),
    );
    const child = spawn(process.execPath, [STRYKER, 'run', config], {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, PLAIN_TESTS: (tests ?? testsOf(file)).join(',') },
    });
    const [code] = (await once(child, 'close')) as [number];
    if (code !== 0)
      throw new Error(`Stryker ended with ${code} for ${file}${lines === undefined ? '' : ` (${lines})`}`);
    return summaryOf(file, readFileSync(report, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function configOf(
  mutate: string,
  run: { readonly report: string; readonly workers: number; readonly scratch: string },
) {
  return {
    mutate: [mutate],
    plugins: [path.join(PACKAGES, 'vitest-runner/dist/src/index.js')],
    testRunner: 'vitest',
    // Threads refuse the size of the young generation that the tests ask for.
    vitest: { configFile: 'proof/plain-vitest.config.ts', related: false, pool: 'forks' },
    coverageAnalysis: 'perTest',
    // Work that goes on between tests makes mutants look static, and each of those would run all tests.
    ignoreStatic: true,
    // The texts of statements have their golden file and the guard cases.
    mutator: { excludedMutations: ['StringLiteral'] },
    ignorePatterns: ['.leasehold', 'cdk.out', 'dist', 'coverage'],
    checkers: [],
    disableTypeChecks: false,
    concurrency: run.workers,
    timeoutMS: 20_000,
    tempDirName: run.scratch,
    reporters: ['json'],
    jsonReporter: { fileName: run.report },
    allowEmpty: true,
    logLevel: 'warn',
  };
}

function summaryOf(file: string, text: string): Judged {
  const { files } = JSON.parse(text) as {
    readonly files: Record<string, { readonly mutants: readonly MutantReport[] }>;
  };
  const mutants = Object.values(files)
    .flatMap((one) => one.mutants)
    .filter(({ status }) => status !== 'Ignored');
  const alive = mutants.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
  return {
    file,
    mutants: mutants.length,
    killed: mutants.length - alive.length,
    survivors: alive.map(
      ({ status, mutatorName, replacement, location: { start } }) =>
        `${file}:${start.line}:${start.column} ${status} ${mutatorName} ${replacement.replaceAll(/\s+/g, ' ').slice(0, 90)}`,
    ),
  };
}

await main(command.parse().args, command.opts<Flags>());
