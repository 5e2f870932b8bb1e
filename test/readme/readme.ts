/**
 * `npm run test:readme`: runs each block of the README, unchanged, as a user with only Node and npm.
 *
 * The home directory and npm's cache are empty, the clone is clean (committed files only), and the project is a fresh `npm init -y`.
 * The second word of a block is its folder: `clone`, or `app`, a project next to the clone. Further words: `aws`, which needs an
 * account and gets the emulator of `npm run test:deploy`; `stays`, a program in a separate terminal, whose output a later block
 * `text output` shows. A block of TypeScript becomes the file that its first line names.
 *
 * Prints each block with its time and outcome, and continues after a failure in the other folder.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { defined } from '../../shared/core/defined.ts';
import type { FoundNode } from '../support/node-from-npm.ts';
import { isAtLeast, nodeFromNpm, versionOf } from '../support/node-from-npm.ts';
import type { Emulator } from '../deploy/emulator.ts';
import { EmulatorUnavailable, startEmulator } from '../deploy/emulator.ts';
import type { CodeBlock } from '../support/documents.ts';
import { ROOT, codeBlocks, documents } from '../support/documents.ts';
import { sameOutput } from './same-output.ts';
import type { Ended, Running } from './terminal.ts';
import { Terminal } from './terminal.ts';

/** The first Node that reads TypeScript by itself. */
const READS_TYPESCRIPT = '22.18';
const KEPT_LINES = 25;
const FOUND = 'found';
/** Settings of the person who runs this, which a new user does not have. */
const NOT_OF_A_NEW_USER = /^(?:npm_|AWS_|LEASEHOLD_|XDG_|VITEST|CI$|NODE_(?!EXTRA_CA_CERTS))/i;

type Outcome = 'ok' | 'failed' | 'not executed';
interface Result {
  readonly block: string;
  readonly node: string;
  readonly outcome: Outcome;
  readonly seconds: number;
  readonly detail?: string;
}

interface Options {
  readonly clone: string;
  readonly app: readonly string[];
  readonly without: readonly string[];
  readonly json?: boolean;
}

const options = new Command('npm run test:readme --')
  .description('Executes each block of the README in an empty home, and says what became of it.')
  .option('--clone <version>', 'Node for the clone: found, or one from npm, such as 20', FOUND)
  .option('--app <versions...>', 'Nodes for the project; found: the one of the clone where it is too old', [FOUND])
  .option('--without <words...>', 'blocks with these words are not executed: "npm test", aws', [])
  .option('--json', 'the last line is one JSON object with every block')
  .parse()
  .opts<Options>();

const blocks = documents()
  .filter(({ path: file }) => file === 'README.md')
  .flatMap(codeBlocks);
const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-readme-'));
const home = path.join(folder, 'home');
const clone = path.join(folder, 'leasehold');
const results: Result[] = [];
let emulator: Emulator | undefined;
try {
  await readAll();
} finally {
  await emulator?.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
const failed = results.filter(({ outcome }) => outcome === 'failed').length;
const skipped = results.filter(({ outcome }) => outcome === 'not executed').length;
const machine = { cores: availableParallelism(), load: Number(loadavg()[0]?.toFixed(1)) };
console.log(
  `${results.length} blocks: ${failed} failed, ${skipped} not executed; ${machine.cores} cores, load ${machine.load}`,
);
if (failed > 0) process.exitCode = 1;
if (options.json === true) console.log(JSON.stringify({ failed, skipped, ...machine, blocks: results }));

async function readAll(): Promise<void> {
  mkdirSync(home);
  const found: FoundNode = { version: versionOf('node', environment()), folder: '' };
  const nodeOf = (wanted: string): FoundNode => (wanted === FOUND ? found : nodeFromNpm(wanted));
  const forClone = nodeOf(options.clone);
  const inFolder = new Terminal(folder, environment(forClone), path.join(folder, 'exports'));
  await take('a clean clone', forClone, () => inFolder.run(`git clone --quiet '${ROOT}' leasehold`));
  const isBuilt = await readClone(forClone, (block) => !block.marks.includes('aws'));
  for (const wanted of options.app) {
    const node = nodeOf(wanted);
    const isOwn = wanted !== FOUND || isAtLeast(node.version, READS_TYPESCRIPT);
    const ofClone = (): FoundNode => {
      const bin = path.join(clone, 'node_modules', '.bin');
      return { version: versionOf(path.join(bin, 'node'), environment()), folder: bin };
    };
    if (isBuilt) await readApp(isOwn ? node : ofClone());
  }
  if (isBuilt) await readClone(forClone, (block) => block.marks.includes('aws'));
}

/** @returns whether all succeeded; the first that fails is the last */
async function readClone(node: FoundNode, isWanted: (block: CodeBlock) => boolean): Promise<boolean> {
  const chosen = blocks.filter((block) => block.marks.includes('clone') && isWanted(block));
  let terminal = new Terminal(clone, environment(node), path.join(folder, 'exports-of-clone'));
  for (const block of chosen) {
    const skip = options.without.find((word) => block.marks.includes(word) || block.code.startsWith(word));
    if (skip !== undefined) {
      report({ block: nameOf(block), node: node.version, outcome: 'not executed', seconds: 0, detail: 'as asked for' });
      continue;
    }
    if (block.marks.includes('aws') && emulator === undefined) {
      const without = await prepareEmulator();
      if (without !== undefined) {
        for (const one of chosen)
          report({ block: nameOf(one), node: node.version, outcome: 'not executed', seconds: 0, detail: without });
        return true;
      }
      terminal = new Terminal(clone, environment(node), path.join(folder, 'exports-of-aws'));
    }
    if (!(await take(nameOf(block), node, () => terminal.run(block.code)))) return false;
  }
  return true;
}

/** @returns why there is none */
async function prepareEmulator(): Promise<string | undefined> {
  try {
    emulator = await startEmulator();
    return undefined;
  } catch (error) {
    if (error instanceof EmulatorUnavailable) return error.message;
    throw error;
  }
}

async function readApp(node: FoundNode): Promise<void> {
  const app = path.join(folder, 'app');
  rmSync(app, { recursive: true, force: true });
  mkdirSync(app);
  const terminal = new Terminal(app, environment(node), path.join(folder, 'exports-of-app'));
  const stays: Running[] = [];
  try {
    let goesOn = await take('npm init -y', node, () => terminal.run('npm init -y'));
    const isSource = ({ language, marks }: CodeBlock): boolean => language === 'ts' || marks.includes('output');
    for (const block of blocks.filter((one) => one.marks.includes('app') || isSource(one))) {
      if (!goesOn) return;
      goesOn = await readBlock(block, { node, app, terminal, stays });
    }
  } finally {
    for (const program of stays) await program.interrupt();
  }
}

interface App {
  readonly node: FoundNode;
  readonly app: string;
  readonly terminal: Terminal;
  readonly stays: Running[];
}

/** @returns whether the next one makes sense */
async function readBlock(block: CodeBlock, { node, app, terminal, stays }: App): Promise<boolean> {
  const { language, marks, code } = block;
  if (language === 'ts') {
    const [, file] = /^\/\/ (\S+\.m?ts)\n/.exec(code) ?? [];
    if (file === undefined) throw new Error(`${block.place}: the first line must name the file, such as // tasks.mts`);
    writeFileSync(path.join(app, file), code);
    return true;
  }
  const last = stays.at(-1);
  if (marks.includes('output'))
    return take(nameOf(block), node, async () => {
      const isSame = (await last?.until((said) => sameOutput(said, code))) ?? false;
      return { code: isSame ? 0 : 'other output', said: last?.said ?? 'nothing runs' };
    });
  if (!marks.includes('stays')) return take(nameOf(block), node, () => terminal.run(code));
  const running = terminal.start(code);
  if (isAtLeast(node.version, READS_TYPESCRIPT)) {
    stays.push(running);
    const isUp = await take(`${nameOf(block)} (in a terminal of its own)`, node, async () => ({
      code: (await running.until((said) => /^tasks /m.test(said))) ? 0 : 'ended',
      said: running.said,
    }));
    return isUp;
  }
  // This Node cannot read TypeScript: it only has to print the message about the required version.
  const remedy = /Node 22\.\d+ or later/;
  await take(`${nameOf(block)} (refused, with the remedy)`, node, async () => {
    const { said } = await running.ended;
    return { code: remedy.test(said) ? 0 : 'no remedy', said };
  });
  return false;
}

/** @returns whether it did well */
async function take(block: string, { version }: FoundNode, work: () => Promise<Ended>): Promise<boolean> {
  const begun = performance.now();
  const { code, said } = await work();
  const seconds = (performance.now() - begun) / 1000;
  if (code === 0) {
    const last = said.trimEnd().split('\n').at(-1)?.slice(0, 100) ?? '';
    report({ block, node: version, outcome: 'ok', seconds, ...(last === '' ? {} : { detail: last }) });
    return true;
  }
  const detail = [`ended with ${code}`, ...said.trimEnd().split('\n').slice(-KEPT_LINES)].join('\n');
  report({ block, node: version, outcome: 'failed', seconds, detail });
  return false;
}

function report(result: Result): void {
  results.push(result);
  const { block, node, outcome, seconds, detail } = result;
  console.log(`${outcome.padEnd(12)} ${seconds.toFixed(1).padStart(6)} s  Node ${node.padEnd(8)} ${block}`);
  for (const line of detail?.split('\n') ?? []) console.log(`${' '.repeat(24)}${line}`);
}

function nameOf({ place, code }: CodeBlock): string {
  const [first = ''] = code
    .trim()
    .replace(/ +#.*$/gm, '')
    .split('\n')
    .reverse();
  return `${place} ${first}`;
}

/** The environment of a new user's programs; the emulator, once it runs, is their AWS. */
function environment(node?: FoundNode): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !NOT_OF_A_NEW_USER.test(name));
  const places = (process.env.PATH ?? '').split(path.delimiter);
  const outside = places.filter((place) => !place.startsWith(ROOT) && !/node_modules|node-gyp-bin/.test(place));
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    npm_config_cache: path.join(home, '.npm'),
    ...defined({ npm_config_registry: process.env.npm_config_registry }),
    PATH: [...(node === undefined || node.folder === '' ? [] : [node.folder]), ...outside].join(path.delimiter),
    // Questions that a user answers with y at a terminal.
    ...(emulator === undefined ? {} : { ...emulator.environment, CDK_REQUIRE_APPROVAL: 'never', CDK_FORCE: 'true' }),
  };
}
