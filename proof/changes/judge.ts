/** Judges a change: by tests, and by histories, each in a separate process, so that one change cannot affect the next. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Change } from './change.ts';
import type { Hunt } from './histories.ts';
import { CHANGE } from './load.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const VITEST = path.join(ROOT, 'node_modules/vitest/vitest.mjs');
const HISTORIES = path.join(import.meta.dirname, 'histories.ts');
/** Most of what a hunt loads is the same in each. */
const COMPILED = path.join(ROOT, '.leasehold/compile-cache');
/** With a change in it, code may never end. */
const LONGEST_MS = 300_000;

interface TestRun {
  /** Folders, and files or patterns of files that end in `.ts`. */
  readonly tests: readonly string[];
  /** Only tests with this title. */
  readonly title?: string;
  /** Endpoint of an embedded engine, if the tests need one. */
  readonly engine?: string | undefined;
}

/** @returns the full titles of the tests that failed; a run that fell over or did not end counts as one that failed */
export async function failedTests(
  change: Change | undefined,
  { tests, title, engine }: TestRun,
): Promise<readonly string[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-judge-'));
  const report = path.join(folder, 'report.json');
  const options = ['--config', 'proof/plain-vitest.config.ts', '--reporter=json', `--outputFile=${report}`];
  try {
    const { code } = await ended([VITEST, 'run', ...options, ...(title === undefined ? [] : ['-t', literal(title)])], {
      ...changeIn(change),
      ...(engine === undefined ? {} : { PLAIN_ENGINE: engine }),
      PLAIN_TESTS: tests.join(','),
    });
    if (code === 0) return [];
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
      readonly testResults: readonly {
        readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
      }[];
    };
    const outcomes = testResults.flatMap(({ assertionResults }) => assertionResults);
    const failed = outcomes.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
    return failed.length > 0 ? failed : ['the run itself'];
  } catch {
    return ['the run itself'];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param seeds histories until a change counts as unnoticed */
export async function hunt(change: Change | undefined, seeds: number): Promise<Hunt> {
  const env = { NODE_COMPILE_CACHE: COMPILED, ...changeIn(change) };
  const { code, output } = await ended([HISTORIES, String(seeds)], env, seeds * LONGEST_MS);
  if (code === 0) return JSON.parse(output) as Hunt;
  const killer = change !== undefined && 'mutator' in change && code === null ? 'spins' : null;
  return { seeds: null, killer, also: [], coreMs: 0, error: `the process ended with ${String(code)}` };
}

/** Seeds that it took, sorted; changes that survived are not among them. */
export function seedsTaken(found: readonly Hunt[]): readonly number[] {
  return found.flatMap(({ seeds }) => seeds ?? []).sort((one, other) => one - other);
}

function changeIn(change: Change | undefined): Readonly<Record<string, string>> {
  return change === undefined ? {} : { [CHANGE]: JSON.stringify(change) };
}

/** A process of this project. @returns no code if it had to be killed */
async function ended(argv: readonly string[], env: Readonly<Record<string, string>>, longestMs = LONGEST_MS) {
  const child = spawn(process.execPath, argv, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // The workers of a run that hangs do not end with it, but its process group does.
  const limit = setTimeout(() => void process.kill(-(child.pid ?? 0), 'SIGKILL'), longestMs);
  const closed = once(child, 'close') as Promise<[number | null]>;
  const output = await text(child.stdout);
  const [code] = await closed;
  clearTimeout(limit);
  return { code, output };
}

/** A pattern of the title, whose suites the option `-t` separates by another text than the report does. */
function literal(title: string): string {
  return title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' ', '(?: > | )');
}
