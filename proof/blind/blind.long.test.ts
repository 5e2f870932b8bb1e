/** Each blind bug is found by the test that is named for it. One alone: `npx vitest run proof/blind/blind.long.test.ts -t N06`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { BlindBug } from './bug.ts';
import { BLIND_BUGS } from './bugs.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'blind-'));
/** With a bug in it, code may never end. */
const LONGEST_MS = 300_000;

interface Outcome {
  readonly status: string;
  readonly fullName: string;
}

afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe('a blind bug', () => {
  test.each(BLIND_BUGS)('$id is found by its test: $what', { timeout: 2 * LONGEST_MS }, async (bug) => {
    const outcomes = await runWith(bug);

    expect(outcomes.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName)).toContainEqual(
      expect.stringContaining(bug.title),
    );
  });
});

async function runWith({ id, test: file, title }: BlindBug): Promise<readonly Outcome[]> {
  const report = path.join(folder, `${id}.json`);
  const vitest = path.join(ROOT, 'node_modules/vitest/vitest.mjs');
  const options = ['--config', 'proof/plain-vitest.config.ts', '--reporter=json', `--outputFile=${report}`];
  const child = spawn(process.execPath, [vitest, 'run', ...options, file, '-t', literal(title)], {
    cwd: ROOT,
    env: { ...process.env, KNOWN_BUG: id },
    detached: true,
    stdio: 'ignore',
  });
  // The workers of a run that hangs do not end with it, but its process group does.
  const limit = setTimeout(() => {
    process.kill(-(child.pid ?? 0), 'SIGKILL');
  }, LONGEST_MS);
  await once(child, 'close');
  clearTimeout(limit);
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    readonly testResults: readonly { readonly assertionResults: readonly Outcome[] }[];
  };
  return testResults.flatMap(({ assertionResults }) => assertionResults);
}

/** A pattern of the title, whose suites the option `-t` separates by another text than the report does. */
function literal(title: string): string {
  return title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' ', '(?: > | )');
}
