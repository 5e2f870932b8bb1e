/**
 * The second half of `npm run test:deploy`: rehearses `npm run aws` against the emulator, with the same script.
 *
 * One run completes, and others are interrupted at each step. All must remove their stack, unless a second interruption ends the
 * removal too: then the command names the stack that is left, and `--destroy-only` removes it.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { Command } from 'commander';
import { EVIDENCE, PART_NAMES } from '../../bench/evidence.ts';
import { bindToParent } from '../../local/bind-to-parent.ts';
import { stacksNamed } from '../../proof/aws/account.ts';
import { pageOf } from '../../proof/aws/page.ts';
import { STACK_PREFIX } from '../../proof/aws/settings.ts';
import { cdk } from '../support/cdk-command.ts';
import type { Emulator } from './emulator.ts';
import { EmulatorUnavailable, startEmulator } from './emulator.ts';
import { UNSUPPORTED_PARTS } from './gaps.ts';
import { ACCOUNT, REGION } from './settings.ts';
import { step } from './step.ts';

const EX_TEMPFAIL = 75;
const EX_INTERRUPTED = 130;
const root = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-rehearsal-'));

interface Run {
  readonly code: number | null;
  readonly said: readonly string[];
}

/** Runs the command; `interruptAt` are texts of lines at which it is interrupted, or a promise of a moment. */
async function run(
  emulator: Emulator,
  args: readonly string[],
  interruptAt: readonly string[] | Promise<void> = [],
): Promise<Run> {
  const script = path.join(root, 'proof', 'aws', 'aws.ts');
  const child = spawn(process.execPath, [script, '--region', REGION, '--endpoint', emulator.endpoint, ...args], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...emulator.environment },
  });
  bindToParent(child);
  const said: string[] = [];
  // To this process alone: the command decides what ends in which order.
  const interrupt = (): void => {
    if (child.pid !== undefined) process.kill(child.pid, 'SIGINT');
  };
  for (const stream of [child.stdout, child.stderr])
    createInterface(stream).on('line', (line) => {
      said.push(line);
      if (Array.isArray(interruptAt) && interruptAt.some((text: string) => line.includes(text))) interrupt();
    });
  if (interruptAt instanceof Promise) await interruptAt.then(interrupt);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}

/** CloudFormation has begun to create the stack. */
async function stackExists({ endpoint }: Emulator): Promise<void> {
  const caller = { endpoint, region: REGION, credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };
  while ((await stacksNamed(caller, STACK_PREFIX)).length === 0) await wait(50);
}

async function nothingLeft(emulator: Emulator): Promise<void> {
  const { TableNames } = await emulator.call('dynamodb', 'DynamoDB_20120810.ListTables', {});
  assert.deepEqual(TableNames, [], 'a table is left');
  const { Functions } = await emulator.rest('lambda', 'GET', '/2015-03-31/functions');
  assert.deepEqual(Functions, [], 'a function is left');
}

async function rehearse(emulator: Emulator): Promise<string> {
  const out = path.join(folder, 'evidence');
  const args = ['--yes', ACCOUNT, '--unsupported', UNSUPPORTED_PARTS.join(','), '--out', out, '--json'];
  const { code, said } = await run(emulator, args);
  assert.equal(code, 0, said.join('\n'));
  const [file = ''] = globSync('*.json', { cwd: out });
  const evidence = EVIDENCE.parse(JSON.parse(readFileSync(path.join(out, file), 'utf8')));
  assert.deepEqual(JSON.parse(said.at(-1) ?? ''), evidence);
  assert.equal(readFileSync(path.join(out, file.replace('.json', '.md')), 'utf8'), pageOf(evidence));
  for (const name of PART_NAMES)
    assert.equal(evidence.parts[name].status, UNSUPPORTED_PARTS.includes(name) ? 'unsupported' : 'measured', name);
  const { tasks } = evidence.parts;
  assert(tasks.status === 'measured');
  const { once: done, twice, lost, killed } = tasks.measured;
  assert.deepEqual({ done, twice, lost, killed }, { done: 200, twice: 0, lost: 0, killed: { exit: 4 } });
  const rehearsed = said.filter((line) => line.includes('rehearsal failed'));
  assert.deepEqual(rehearsed, [], 'a part could not be rehearsed');
  await nothingLeft(emulator);
  return `${done} tasks once; ${UNSUPPORTED_PARTS.length} parts unsupported, all rehearsed`;
}

async function main(): Promise<void> {
  const emulator = await startEmulator();
  try {
    await cdk(emulator.environment, ['bootstrap', `aws://${ACCOUNT}/${REGION}`]);
    await step('without --yes, or with another account, it deploys nothing', async () => {
      const [silent, other] = [await run(emulator, []), await run(emulator, ['--yes', '123456789012'])];
      assert.deepEqual([silent.code, other.code], [1, 1]);
      assert.match(silent.said.join('\n'), /Plan, .*nothing was deployed/s);
      assert.match(other.said.join('\n'), new RegExp(`are of account ${ACCOUNT}, and --yes says 123456789012`));
      await nothingLeft(emulator);
    });
    const yes = ['--yes', ACCOUNT, '--out', path.join(folder, 'interrupted')];
    const interrupted = async (what: string, at: readonly string[] | Promise<void>): Promise<void> =>
      step(`interrupted ${what}, nothing is left`, async () => {
        const { code, said } = await run(emulator, yes, at);
        assert.equal(code, EX_INTERRUPTED, said.join('\n'));
        await nothingLeft(emulator);
      });
    await interrupted('before the deployment', ['step: deploy']);
    await interrupted('during the deployment', stackExists(emulator));
    await interrupted('while it measures', ['step: measure']);
    await interrupted('with tasks at work', ['units:']);
    await step('interrupted during the removal too, it says what is left', async () => {
      const { code, said } = await run(emulator, yes, ['step: measure', 'step: destroy']);
      assert.equal(code, EX_INTERRUPTED, said.join('\n'));
      assert.match(said.join('\n'), /error: the removal was interrupted: stack LeaseholdEvidence-\w+ .*--destroy-only/);
      const removed = await run(emulator, ['--yes', ACCOUNT, '--destroy-only']);
      assert.equal(removed.code, 0, removed.said.join('\n'));
      await nothingLeft(emulator);
    });
    await step('a run to its end', () => rehearse(emulator));
  } catch (error) {
    console.error(`--- the emulator's last lines ---\n${emulator.story()}`);
    throw error;
  } finally {
    await emulator.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

new Command('npm run test:deploy').description('Rehearses the evidence from AWS against an emulator.').parse();
try {
  await main();
} catch (error) {
  if (!(error instanceof EmulatorUnavailable)) throw error;
  console.error(error.message);
  process.exitCode = EX_TEMPFAIL;
}
