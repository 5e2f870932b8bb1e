/**
 * `npm run shape [-- --since COMMIT] [--json]`
 *
 * The shape of the code in figures: lines, files, arrows between rooms,
 * circles, frames of a claim, words. With `--since`, beside an earlier commit.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Table from 'cli-table3';
import { Command } from 'commander';
import type { DynamoDriver } from '../shared/dynamo/engine/driver.ts';
import { defineTask } from '../shared/tasks/task/definition.ts';
import type { Source } from './support/import-graph.ts';
import { circular, filesOf, roomsOf, sourcesOf } from './support/import-graph.ts';
import { openMemoryQueue } from './support/memory-queue.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const WORDS = ['whoever', 'nobody', 'somebody', 'anew', 'mend', 'for good'];
const WIDE_COLUMNS = 140;
const LONG_LINES = 400;
const SEEDED_BUGS = 'proof/mutants/';

const flags = new Command('npm run shape --')
  .description('Measures the shape of the code: lines, arrows, circles, frames, words.')
  .option('--since <commit>', 'beside this commit')
  .option('--json', 'one JSON object as the last line')
  .parse()
  .opts<{ since?: string; json?: boolean }>();

type Figures = Readonly<Record<string, number>>;

const now: Figures = { ...measure(ROOT), ...(await frames()) };
const before = flags.since === undefined ? undefined : measureAt(flags.since);
const table = new Table({ head: before === undefined ? ['figure', 'now'] : ['figure', flags.since ?? '', 'now'] });
for (const [figure, value] of Object.entries(now))
  table.push(before === undefined ? [figure, value] : [figure, before[figure] ?? '', value]);
console.log(table.toString());
if (flags.json === true) console.log(JSON.stringify({ now, before }));

function measureAt(commit: string): Figures {
  const folder = mkdtempSync(path.join(tmpdir(), 'shape-'));
  try {
    const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    return measure(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function measure(root: string): Figures {
  const sources = sourcesOf(root);
  const isTest = ({ path: file }: Source): boolean => /^(?:test|proof)\/|^\w+\/test\//.test(file);
  const product = sources.filter((source) => source.path.includes('/') && !isTest(source));
  const shared = product.filter(({ path: file }) => file.startsWith('shared/'));
  const rooms = roomsOf(product);
  // The lists of them, and not what finds their places.
  const seededBugs = sources.filter(
    ({ path: file, text }) => file.startsWith(SEEDED_BUGS) && text.includes('killedBy: ['),
  );
  return {
    'lines of the product': lines(product),
    'lines of shared/': lines(shared),
    'files of the product': product.length,
    'lines of tests': lines(sources.filter(isTest)),
    rooms: rooms.size,
    'arrows between rooms': [...rooms.values()].reduce((sum, imports) => sum + imports.size, 0),
    'files in a circle, or between two': circular(filesOf(product)).length,
    'rooms in a circle, or between two': circular(rooms).length,
    'files in the fullest folder of shared/': fullest(shared),
    'files that wire a store of tasks': product.filter(
      ({ path: file, text }) => !file.startsWith('bench/') && /(?<!function )\bcreateTaskStore\(/.test(text),
    ).length,
    // With a limit in the loop's head: reading in rounds, and sending until a deadline, have none there.
    'loops that retry what is contended': matches(shared, /for \(let (?:round|times|attempt)s? = \d+; \w/g),
    'files of 390 lines or more': product.filter((source) => lines([source]) >= LONG_LINES - 10).length,
    'spreads of an object literal': matches(product, /\.\.\.\{/g),
    'places of seeded bugs by copied source': matches(seededBugs, /\bfind:\s/g),
    'places of seeded bugs by a text that is sent': matches(seededBugs, /\b(?:clause|disarmed)\(/g),
    'places of seeded bugs by structure alone': matches(seededBugs, /\bin: (?![^}]*\bclause\()/g),
    [`lines beyond ${WIDE_COLUMNS} columns`]: matches(product, new RegExp(`^.{${WIDE_COLUMNS + 1},}$`, 'gm')),
    'comments that begin with Of': matches(product, /(?:\/\*\*|\/\/|\*) Of /g),
    ...Object.fromEntries(WORDS.map((word) => [`"${word}" in the product`, matches(product, worded(word))])),
    ...Object.fromEntries(WORDS.map((word) => [`"${word}" in documents`, matches(documents(root), worded(word))])),
    'words of ARCHITECTURE': words(path.join(root, 'ARCHITECTURE.md')),
  };
}

function lines(sources: readonly Source[]): number {
  return sources.reduce((sum, { text }) => sum + text.split('\n').length - (text.endsWith('\n') ? 1 : 0), 0);
}

function matches(sources: readonly Pick<Source, 'text'>[], pattern: RegExp): number {
  return sources.reduce((sum, { text }) => sum + [...text.matchAll(pattern)].length, 0);
}

function worded(word: string): RegExp {
  return new RegExp(`\\b${word}\\b`, 'gi');
}

function documents(root: string): { readonly text: string }[] {
  return [root, path.join(root, 'docs'), path.join(root, 'bench')]
    .flatMap((folder) => readdirSync(folder).map((file) => path.join(folder, file)))
    .filter((file) => file.endsWith('.md'))
    .map((file) => ({ text: readFileSync(file, 'utf8') }));
}

function words(file: string): number {
  return existsSync(file) ? readFileSync(file, 'utf8').split(/\s+/).length : 0;
}

function fullest(sources: readonly Source[]): number {
  const folders = Object.groupBy(sources, ({ path: file }) => path.posix.dirname(file));
  return Math.max(...Object.values(folders).map((files = []) => files.length));
}

/** What a worker that looks for a task and claims it goes through: functions of ours between the handler and the driver, awaiting ones included. */
async function frames(): Promise<Figures> {
  const deepest = { 'frames of a look for tasks': 0, 'frames of a claim': 0 };
  Error.stackTraceLimit = Infinity;
  const q = openMemoryQueue((driver): DynamoDriver => ({
    attempt(kind, input, signal) {
      const request = JSON.stringify(input);
      const figure =
        kind === 'query' && request.includes('"IndexName":"ready"')
          ? 'frames of a look for tasks'
          : kind === 'update' && request.includes('claimedAt')
            ? 'frames of a claim'
            : undefined;
      if (figure !== undefined) deepest[figure] = Math.max(deepest[figure], ours(new Error().stack ?? ''));
      return driver.attempt(kind, input, signal);
    },
  }));
  const work = defineTask({ name: 'work', run: () => undefined });
  await q.client.enqueue(work, null);
  await q.work({ work });
  return deepest;
}

function ours(stack: string): number {
  return stack.split('\n').filter((line) => line.includes('/shared/')).length;
}
