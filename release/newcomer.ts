/**
 * `npm run newcomer`: the first hour of a new user, from a clean clone, in an empty home directory, with an empty package cache.
 *
 * Prints each step with its time, and goes on after one that failed; the exit code is 1 if any did.
 * What a failed step said is kept in `.leasehold/newcomer/`.
 * What is not committed is not in the clone.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';

const ROOT = path.resolve(import.meta.dirname, '..');
const LOGS = path.join(ROOT, '.leasehold/newcomer');
/** To the end of `npm start` on two cores that are free for it, installation included. */
const FIRST_COMMAND_LIMIT_SECONDS = 180;
/** What the step itself adds to the load is less. */
const BUSY_LOAD = 4;
/** A step that says nothing more by then is stuck. */
const STEP_LIMIT_MS = 45 * 60_000;
const KEPT_LINES = 12;
/** Settings of the person who runs this, which a new user does not have. */
const NOT_OF_SOMEBODY_NEW = /^(?:npm_|AWS_|LEASEHOLD_|XDG_|VITEST|NODE_(?!EXTRA_CA_CERTS))/i;

interface Step {
  readonly what: string;
  readonly command: readonly string[];
  /** What of its output is worth a line. @throws when the output is not what it should be */
  readonly see?: (output: string) => string;
  readonly limitSeconds?: number;
}

const FIRST: Step = {
  what: 'the first command, installation included',
  command: ['npm', 'start', '--', '--json', '--duplicate-ticks'],
  see: seeVerdict,
  limitSeconds: FIRST_COMMAND_LIMIT_SECONDS,
};
const INSTALLATION: Step = { what: 'the installation', command: ['npm', 'ci', '--no-audit', '--no-fund'] };
const QUICK: readonly Step[] = [
  { what: 'the command', command: ['npx', 'leasehold', 'cost', '--tasks-per-day', '1e6'], see: lastLine },
  { what: 'the units of every verb', command: ['npm', 'run', 'units'] },
  { what: 'the package, installed elsewhere', command: ['npm', 'run', 'test:package'], see: stepsOfPackage },
  {
    what: 'the documents, their commands and their links',
    command: ['npx', 'vitest', 'run', 'test/docs', '--exclude', '**/code-blocks*'],
    see: seeTests,
  },
  {
    what: 'each block of the guides, compiled, and run where it says so',
    command: ['npx', 'vitest', 'run', 'test/docs/code-blocks'],
    see: seeTests,
  },
  { what: 'the reference', command: ['npm', 'run', 'docs'], see: lastLine },
  { what: 'the stack', command: ['npm', 'run', 'synth'] },
];
const TESTS: Step = { what: 'the second command', command: ['npm', 'test'], see: seeVerdicts };

const { quick, only } = new Command('npm run newcomer --')
  .description('Spends the first hour of a new user, from a clean clone of what is committed.')
  .option('--quick', 'leave out the examples and the tests')
  .option('--only <words>', 'take only the steps whose names hold these words, after clone and installation')
  .parse()
  .opts<{ readonly quick?: boolean; readonly only?: string }>();
const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-newcomer-'));
const clone = path.join(folder, 'leasehold');
const home = path.join(folder, 'home');
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => interrupted.abort(new Error(`ended by ${signal}`)));
try {
  process.exitCode = await spendFirstHour();
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

async function spendFirstHour(): Promise<number> {
  mkdirSync(home);
  rmSync(LOGS, { recursive: true, force: true });
  const begun = performance.now();
  const environment = await environmentOfSomebodyNew();
  await sayWhatIsCloned();
  const tally = { steps: 0, failed: 0 };
  const perform = async (step: Step, cwd: string): Promise<boolean> => {
    const hasPassed = await take(step, cwd, environment);
    tally.steps++;
    if (!hasPassed) tally.failed++;
    return hasPassed;
  };

  const isCloned = await perform(
    { what: 'a clean clone', command: ['git', 'clone', '--quiet', ROOT, clone] },
    path.dirname(clone),
  );
  // Whatever follows needs what these two put there.
  if (isCloned && (await perform(only === undefined ? FIRST : INSTALLATION, clone)))
    for (const step of chosenSteps()) if (!interrupted.signal.aborted) await perform(step, clone);
  const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
  const load = loadavg()[0]?.toFixed(1) ?? '?';
  const machine = `${availableParallelism()} cores, load ${load} at the end`;
  console.log(`\n${tally.steps} steps in ${minutes} minutes, ${tally.failed} failed; ${machine}`);
  return tally.failed > 0 || interrupted.signal.aborted ? 1 : 0;
}

/** @throws when no step has the words that were asked for */
function chosenSteps(): readonly Step[] {
  const all = [...QUICK, ...(quick === true ? [] : [...examples(), TESTS])];
  if (only === undefined) return all;
  const chosen = all.filter(({ what }) => what.includes(only));
  if (chosen.length === 0)
    throw new Error(`no step is called so; there are: ${all.map(({ what }) => what).join('; ')}`);
  return chosen;
}

/** @returns whether it did what it should; its line is printed */
async function take(step: Step, cwd: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const begun = performance.now();
  const { code, output, everything } = await run(step.command, cwd, environment);
  const seconds = (performance.now() - begun) / 1000;
  const { complaint, seen } = judge(step, code, output, seconds);
  const verdict = complaint === undefined ? 'ok    ' : 'FAILED';
  console.log(`${verdict} ${seconds.toFixed(1).padStart(7)} s  ${step.what}: ${step.command.join(' ')}`);
  for (const line of seen) console.log(`${' '.repeat(18)}${line}`);
  if (complaint === undefined) return true;
  mkdirSync(LOGS, { recursive: true });
  const log = path.join(LOGS, `${step.what.replace(/\W+/g, '-')}.log`);
  writeFileSync(log, everything);
  const end = everything.trimEnd().split('\n').slice(-KEPT_LINES);
  for (const line of [complaint, ...end, `all of it: ${path.relative(ROOT, log)}`])
    console.log(`${' '.repeat(18)}${line}`);
  return false;
}

function judge(
  { see, limitSeconds = Infinity }: Step,
  code: number | string,
  output: string,
  seconds: number,
): { readonly complaint?: string; readonly seen: readonly string[] } {
  if (code !== 0) return { complaint: `it ended with ${code}`, seen: [] };
  try {
    const seen = see === undefined ? [] : see(output).split('\n');
    if (seconds <= limitSeconds) return { seen };
    const late = `it took longer than the ${limitSeconds} s that are promised for two free cores`;
    const load = loadavg()[0] ?? 0;
    // Beside the work of others it says nothing of ours.
    if (load <= availableParallelism() + BUSY_LOAD) return { complaint: late, seen };
    return { seen: [...seen, `${late}; these had a load of ${load.toFixed(1)}`] };
  } catch (error) {
    return { complaint: String(error), seen: [] };
  }
}

async function run(
  [program = '', ...args]: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly code: number | string; readonly output: string; readonly everything: string }> {
  // A group of its own, so that whatever it started ends with it.
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let output = '';
  let everything = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    everything += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    everything += text;
  });
  const end = AbortSignal.any([interrupted.signal, AbortSignal.timeout(STEP_LIMIT_MS)]);
  const stop = (): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
  };
  end.addEventListener('abort', stop);
  try {
    await once(child, 'close');
  } catch (error) {
    return { code: `${program} cannot be started`, output, everything: `${everything}${String(error)}\n` };
  } finally {
    end.removeEventListener('abort', stop);
  }
  const reason = end.aborted ? `${child.signalCode} (${String(end.reason)})` : child.signalCode;
  return { code: child.exitCode ?? reason ?? 'no code', output, everything };
}

async function environmentOfSomebodyNew(): Promise<NodeJS.ProcessEnv> {
  const { output } = await run(['npm', 'config', 'get', 'registry'], ROOT, process.env);
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !NOT_OF_SOMEBODY_NEW.test(name))),
    HOME: home,
    npm_config_registry: output.trim(),
    npm_config_cache: path.join(home, '.npm'),
    PATH: pathWithoutOurs(process.env.PATH ?? ''),
  };
}

/** The clone's own Node and tools, not those of the checkout that runs this. */
function pathWithoutOurs(paths: string): string {
  return paths
    .split(path.delimiter)
    .filter((place) => !place.startsWith(ROOT) && !/node_modules|node-gyp-bin/.test(place))
    .join(path.delimiter);
}

async function sayWhatIsCloned(): Promise<void> {
  const commit = await run(['git', 'log', '-1', '--format=%h %s'], ROOT, process.env);
  const changes = await run(['git', 'status', '--short'], ROOT, process.env);
  const count = changes.output.split('\n').filter((line) => line !== '').length;
  console.log(`commit ${commit.output.trim()}${count === 0 ? '' : `; ${count} changed files are not part of it`}\n`);
}

/** The commands of the list of examples that end by themselves; those for several terminals are among the tests. */
function examples(): Step[] {
  const list = readFileSync(path.join(clone, 'examples/README.md'), 'utf8');
  const steps = [...list.matchAll(/`node (?<program>examples\/(?<name>[\w-]+)\/main\.ts)`/g)].map(
    ({ groups: { program = '', name = '' } = {} }) => ({
      what: `example ${name}`,
      // With the Node that npm scripts have, where the machine's own is older.
      command: ['npx', 'node', program],
      see: seeClaims,
    }),
  );
  if (steps.length === 0)
    throw new Error('examples/README.md names no program: correct the pattern that looks for them');
  return steps;
}

function seeVerdict(output: string): string {
  const verdict = JSON.parse(lastLine(output)) as Record<
    'tasks' | 'done' | 'dead' | 'lost' | 'takeovers' | 'doubleCommits' | 'seconds',
    number
  >;
  const { tasks, done, dead, lost, takeovers, doubleCommits, seconds } = verdict;
  if (done !== tasks || dead + lost + doubleCommits > 0) throw new Error(`the promise was not kept: ${output}`);
  return `${done} of ${tasks} packages done, ${takeovers} taken over from the worker that was killed, none lost, in ${seconds} s`;
}

function seeClaims(output: string): string {
  return `${output.match(/^.*\byes {2}/gm)?.length ?? 0} claims hold`;
}

/** Vitest's count, skipped ones included: they are what this machine could not show. */
function seeTests(output: string): string {
  const plain = output.replaceAll(/\x1b\[\d+m/g, '');
  const counts = plain.match(/^ *(?:Test Files|Tests) +.*$/gm) ?? [];
  if (counts.length === 0) throw new Error('no test was counted');
  return counts.map((line) => line.trim().replaceAll(/ +/g, ' ')).join(', ');
}

/** The verdict of each check, with its time, and the tests; the step's own line has the time of all. */
function seeVerdicts(output: string): string {
  return [...(output.match(/^ok {5}.*$/gm) ?? []), seeTests(output)].join('\n');
}

function stepsOfPackage(output: string): string {
  return output
    .split('\n')
    .filter((line) => / \(\d+\.\d s\): /.test(line))
    .join('\n');
}

function lastLine(output: string): string {
  return output.trimEnd().split('\n').at(-1) ?? '';
}
