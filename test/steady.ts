/**
 * `npm run steady -- --runs 30 --burn 2`: `npm test` again and again, beside processes that burn CPU.
 *
 * A line a run, with its time, the CPU time of all its processes, and the machine's load; below it the name of each test that failed.
 * What a failed run said is kept in `.leasehold/steady/`.
 * What stands behind a second `--` goes to `npm test`: a place, or `-t NAME`.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { leash, signalGroup } from '../local/leash.ts';
import { wholeNumber } from '../local/arguments.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const KEPT = path.join(ROOT, '.leasehold/steady');
const MAX_RUNS = 1_000;
const MAX_BURNERS = 64;
/** Places in Linux's account of a process: what its children took, and theirs, once they have ended. */
const CHILDREN_TICKS = [13, 14] as const;
const TICKS_PER_SECOND = 100;

interface Run {
  readonly isGood: boolean;
  readonly seconds: number;
  /** Absent where the system keeps no such account. */
  readonly cpuSeconds?: number;
  readonly load: number;
  readonly tests: number;
  readonly failures: readonly string[];
}

const command = new Command('npm run steady --')
  .description('Runs npm test again and again, beside processes that burn CPU, and names each test that fails.')
  .option('--runs <n>', 'how often', wholeNumber(1, MAX_RUNS), 10)
  .option('--burn <n>', 'processes that burn CPU meanwhile', wholeNumber(0, MAX_BURNERS), 0)
  .option('--json', 'print one JSON object as the last line', false)
  .argument('[options...]', "what npm test is given, behind another '--'")
  .parse();
const { runs, burn, json } = command.opts<{ readonly runs: number; readonly burn: number; readonly json: boolean }>();

rmSync(KEPT, { recursive: true, force: true });
mkdirSync(KEPT, { recursive: true });
const burners = Array.from({ length: burn }, () => start(['--eval', 'for (;;);'], 'ignore'));
const done: Run[] = [];
for (let number = 1; number <= runs; number++) {
  const run = await runOnce(number);
  done.push(run);
  console.log(lineOf(number, run));
  for (const failure of run.failures) console.log(`    ${failure}`);
}
for (const burner of burners) signalGroup(burner, 'SIGKILL');
const failed = done.filter(({ isGood }) => !isGood).length;
console.log(`${runs} runs, ${failed} failed; ${availableParallelism()} cores, ${burn} processes that burned CPU`);
if (json) console.log(JSON.stringify({ runs, failed, burn, cores: availableParallelism(), each: done }));
process.exitCode = failed === 0 ? 0 : 1;

async function runOnce(number: number): Promise<Run> {
  const report = path.join(KEPT, `${number}.json`);
  const before = cpuSecondsOfChildren();
  const begun = performance.now();
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile=${report}`];
  const child = start(['test/run.ts', 'test', ...reporters, ...command.args], 'pipe');
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const [code] = (await once(child, 'close')) as [number | null];
  const seconds = Math.round((performance.now() - begun) / 1000);
  const after = cpuSecondsOfChildren();
  if (code !== 0) writeFileSync(path.join(KEPT, `${number}.log`), said);
  const checks = said.split('\n').filter((line) => line.startsWith('FAILED '));
  const { tests, failures } = read(report);
  return {
    isGood: code === 0,
    seconds,
    tests,
    failures: [...checks, ...failures],
    ...(before === undefined || after === undefined ? {} : { cpuSeconds: Math.round(after - before) }),
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
}

function lineOf(number: number, { isGood, seconds, cpuSeconds, load, tests }: Run): string {
  const verdict = isGood ? 'ok    ' : 'FAILED';
  const cpu = cpuSeconds === undefined ? '' : `, ${cpuSeconds} s of CPU`;
  const log = isGood ? '' : `: .leasehold/steady/${number}.log`;
  return `${verdict} run ${number} of ${runs}: ${tests} tests in ${seconds} s${cpu}, load ${load} at its end${log}`;
}

interface Report {
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

function read(file: string): { readonly tests: number; readonly failures: readonly string[] } {
  let report: Report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8')) as Report;
  } catch {
    return { tests: 0, failures: ['the tests did not come to their end'] };
  }
  const failures = report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const place = path.relative(ROOT, name);
    const tests = assertionResults.filter((result) => result.status === 'failed');
    if (tests.length === 0 && status === 'failed') return [`${place}: ${message.split('\n')[0] ?? ''}`];
    return tests.map(({ fullName }) => `${place}: ${fullName}`);
  });
  return { tests: report.numTotalTests, failures };
}

function start(args: readonly string[], output: 'pipe' | 'ignore'): ChildProcess {
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', output, output], detached: true });
  leash(child);
  return child;
}

function cpuSecondsOfChildren(): number | undefined {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return CHILDREN_TICKS.reduce((sum, field) => sum + Number(fields[field]), 0) / TICKS_PER_SECOND;
  } catch {
    return undefined;
  }
}
