/**
 * Runs HashiCorp's own tests of their Go client, unchanged, against gateways: sessions, keys, locks, semaphores, transactions.
 *
 * Their helper starts a program `consul` for each test; here that program requests a gateway on its own table (`hashicorp/`).
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { buildClientTests, clientSources } from './go-program.ts';
import type { Agents } from './hashicorp/agents.ts';
import { openAgents } from './hashicorp/agents.ts';

const SUBJECTS = ['session', 'kv', 'lock', 'semaphore', 'txn'];
/** consul/README.md says of each why. */
const CANNOT_PASS = [
  'TestAPI_SessionInfo_NoChecks',
  'TestAPI_SessionServiceChecks',
  'TestAPI_ClientTxn',
  'TestAPI_ClientTxnWrite',
];
/** For what hangs: all of them take half a minute. */
const TIMEOUT = '5m';

const endpoint = inject('embeddedEndpoint');
const build = buildClientTests();
const missing = 'missing' in build ? build.missing : undefined;
const title = `HashiCorp's tests of sessions and keys${missing === undefined ? '' : ` (skipped: ${missing})`}`;

describe.skipIf(endpoint === null || missing !== undefined)(title, () => {
  const program = 'program' in build ? build.program : '';
  const sources = missing === undefined ? clientSources() : '';
  const names = missing === undefined ? SUBJECTS.flatMap((subject) => testsIn(sources, subject)) : [];
  const wanted = names.filter((name) => !CANNOT_PASS.includes(name));
  let agents: Agents;
  beforeAll(async () => {
    agents = await openAgents(endpoint ?? '');
  });
  afterAll(async () => {
    await agents.close();
    await rm(path.dirname(program), { recursive: true });
  });

  const run = (names: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const argv = ['-test.v', '-test.timeout', TIMEOUT, '-test.parallel', '4', '-test.run', `^(${names.join('|')})$`];
    // Some of them read files from their own folder.
    const options = { cwd: sources, env: { ...process.env, ...agents.env }, maxBuffer: 64 * 1024 * 1024 };
    return new Promise((resolve) => {
      execFile(program, argv, options, (_error, stdout, stderr) => {
        const verdicts = [...stdout.matchAll(/^--- (PASS|FAIL|SKIP): (\w+)/gm)];
        const failed = verdicts.some(([, verdict]) => verdict !== 'PASS');
        if (failed) process.stderr.write(stdout.split('\n').filter(isTelling).join('\n') + stderr);
        resolve(new Map(verdicts.map(([, verdict = '', name = '']) => [name, verdict])));
      });
    });
  };

  test('pass, unless they need features that a gateway lacks', async () => {
    const verdicts = await run(wanted);

    expect(names.length).toBeGreaterThan(35);
    expect(verdicts).toEqual(new Map(wanted.map((name) => [name, 'PASS'])));
  });

  test.each(CANNOT_PASS)('%s fails, as the document says', async (name) => {
    expect(names).toContain(name);
    // On its own: some of them end their process.
    expect(await run([name])).toEqual(new Map([[name, 'FAIL']]));
    expect(readFileSync('consul/README.md', 'utf8').includes(`\`${name}\``)).toBe(true);
  });
});

function testsIn(sources: string, subject: string): readonly string[] {
  const source = readFileSync(path.join(sources, `${subject}_test.go`), 'utf8');
  return [...source.matchAll(/^func (TestAPI_\w+)\(/gm)].map(([, name = '']) => name);
}

/** Lines about a failure, without those about ports and configurations. */
function isTelling(line: string): boolean {
  return !/CONFIG JSON|freeport|test cmd args|^=== /.test(line);
}
