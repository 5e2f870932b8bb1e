/**
 * `npm run newcomer`: the first hour of somebody new, from a clean clone, in an empty home directory, with an empty package cache.
 *
 * Prints how long each step took. `--quick` leaves out the tests; the promise of three minutes is about the first command alone.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '..');
/** To the end of `npm start` on two cores, installation included. */
const FIRST_COMMAND_LIMIT_SECONDS = 180;

interface Step {
  readonly what: string;
  readonly command: readonly string[];
  /** What of its output is worth a line; throws when it is not what it should be. */
  readonly see?: (output: string) => string;
}

const STEPS: readonly Step[] = [
  { what: 'the first command', command: ['npm', 'start', '--', '--json', '--duplicate-ticks'], see: seeVerdict },
  { what: 'the package, installed elsewhere', command: ['npm', 'run', 'test:package'] },
  { what: 'the documents, their code and their links', command: ['npx', 'vitest', 'run', 'test/docs'] },
  { what: 'the reference', command: ['npm', 'run', 'docs'] },
  { what: 'the examples', command: ['npx', 'vitest', 'run', 'test/e2e'] },
  { what: 'the tests', command: ['npm', 'test'] },
];
const QUICK_STEPS = 4;

const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-newcomer-'));
const clone = path.join(folder, 'leasehold');
const home = path.join(folder, 'home');
mkdirSync(home);

try {
  const registry = (await output(['npm', 'config', 'get', 'registry'], ROOT, process.env)).trim();
  const environment = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_/i.test(name))),
    ...{ HOME: home, npm_config_registry: registry, npm_config_cache: path.join(home, '.npm') },
    PATH: pathWithoutOurs(process.env.PATH ?? ''),
  };
  await timed('git clone', async () => {
    await output(['git', 'clone', '--quiet', ROOT, clone], folder, environment);
    return '';
  });
  const steps = process.argv.includes('--quick') ? STEPS.slice(0, QUICK_STEPS) : STEPS;
  for (const { what, command, see = () => '' } of steps) {
    const seconds = await timed(`${what}: ${command.join(' ')}`, async () =>
      see(await output(command, clone, environment)),
    );
    if (what === 'the first command' && seconds > FIRST_COMMAND_LIMIT_SECONDS)
      console.log(`  longer than the ${FIRST_COMMAND_LIMIT_SECONDS} s that are promised for two cores`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function timed(what: string, work: () => Promise<string>): Promise<number> {
  const begun = performance.now();
  const seen = await work();
  const seconds = (performance.now() - begun) / 1000;
  console.log(`${seconds.toFixed(1).padStart(7)} s  ${what}${seen === '' ? '' : `\n           ${seen}`}`);
  return seconds;
}

/** What it prints on standard output. @throws with the end of what it said when it fails */
async function output(command: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  });
  let out = '';
  let all = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    all += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    all += text;
  });
  await once(child, 'close');
  if (child.exitCode !== 0)
    throw new Error(`${command.join(' ')} ended with ${child.exitCode ?? child.signalCode}:\n${all.slice(-3_000)}`);
  return out;
}

function seeVerdict(text: string): string {
  const verdict = JSON.parse(text.trim().split('\n').at(-1) ?? '') as Record<
    'tasks' | 'done' | 'dead' | 'lost' | 'takeovers' | 'doubleCommits' | 'seconds',
    number
  >;
  const { tasks, done, dead, lost, takeovers, doubleCommits, seconds } = verdict;
  if (done !== tasks || dead + lost + doubleCommits > 0) throw new Error(`the promise was not kept: ${text}`);
  return `${done} of ${tasks} packages done, ${takeovers} taken over from the worker that was killed, none lost, in ${seconds} s`;
}

/** The clone's own Node and tools, not those of the checkout that runs this. */
function pathWithoutOurs(paths: string): string {
  return paths
    .split(path.delimiter)
    .filter((folder) => !folder.startsWith(ROOT) && !folder.includes('node-gyp-bin'))
    .join(path.delimiter);
}
