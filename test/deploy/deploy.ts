/**
 * `npm run test:deploy`: the stack, really deployed, by the CDK's own commands, to an AWS that acts on it.
 *
 * Nothing is started by hand: tasks are put into the queue with the public client, and then the deployed schedule must fire,
 * the deployed dispatcher must invoke workers, and the deployed bundles must do every task, under the deployed policies.
 */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { Command } from 'commander';
import { taskKey } from '../../shared/dynamo/engine/keys.ts';
import { StoreUnavailableError } from '../../shared/errors.ts';
import { Deployed, Deployer, until } from './deployed.ts';
import type { Emulator } from './emulator.ts';
import { EmulatorUnavailable, startEmulator } from './emulator.ts';
import { printGaps } from './gaps.ts';
import { QUEUE } from './settings.ts';
import { crash, probe, record } from './tasks.ts';

/** For what hangs: ticks come once a minute, and tasks take seconds. */
const NEXT_TICK_MS = 600_000;
const ALL_DONE_MS = 1_200_000;
const MOST_ASKED = 20;
/** Between what keeps the old version at work until the new one is there. */
const REFILL_MS = 4_000;

/** Nothing was tested, because this machine has no emulator and could get none. */
const EX_TEMPFAIL = 75;

async function main(): Promise<void> {
  const emulator = await step('install and start the emulator', startEmulator);
  try {
    const deployer = new Deployer(emulator);
    await step('cdk bootstrap', () => deployer.bootstrap());
    await step('cdk deploy', () => deployer.deploy('1'));
    {
      using deployed = new Deployed(emulator);
      await step('the schedule fires by itself, and 60 tasks are done exactly once', () => firstBatch(deployed));
      await step('a worker can do nothing beside its work', () => permissions(deployed, emulator));
      await step('a changed stack is deployed while tasks are in flight, a worker crashes, and none is lost', () =>
        upgrade(deployed, deployer),
      );
      await step('what this emulator cannot show', () => printGaps(deployed, emulator));
    }
    await step('cdk destroy', () => destroy(deployer, emulator));
  } catch (error) {
    console.error(`--- the emulator's last lines ---\n${emulator.story()}`);
    throw error;
  } finally {
    await emulator.stop();
  }
}

async function firstBatch(deployed: Deployed): Promise<string> {
  const ids = Array.from({ length: 60 }, (_, index) => `first-${index}`);
  await enqueueAll(deployed, ids, 20);
  // Twice is once: the id is the identity.
  const again = await answered(() => deployed.leasehold.tasks.enqueue(record, { workMs: 20 }, { id: 'first-0' }));
  assert.equal(again.created, false);

  await allDone(deployed, ids);
  const effects = await deployed.effects();
  for (const id of ids) assert.deepEqual(effects.get(id), { id, times: 1, revision: '1', attempt: 1 });
  const workers = await until(
    'the dispatcher has logged',
    () => deployed.reported('WorkersInvoked'),
    (count) => count > 0,
    NEXT_TICK_MS,
  );
  return `${ids.length} done by ${workers} workers`;
}

async function permissions(deployed: Deployed, emulator: Emulator): Promise<string> {
  const before = emulator.refusals();
  assert.deepEqual(before, [], 'the first batch was refused something that it needs');
  const { TableName: table, DispatcherFunctionName: dispatcher } = deployed.outputs;
  await answered(() => deployed.leasehold.tasks.enqueue(probe, { table, dispatcher }, { id: 'probe' }));
  const [task] = await allDone(deployed, ['probe']);
  assert(task?.state === 'done');
  const { outcomes } = task.result as { outcomes: Record<string, string> };
  assert.deepEqual(new Set(Object.values(outcomes)), new Set(['AccessDeniedException']), JSON.stringify(outcomes));
  return `refused: ${Object.keys(outcomes).join(', ')}`;
}

/**
 * The new version arrives while tasks are running; one of the new tasks kills its worker, so that others must take over.
 * The emulator ends all old environments at once, which is harder than AWS but shows no two versions side by side.
 * So one environment of the old version, its very bundle, goes on working in a process of ours.
 */
async function upgrade(deployed: Deployed, deployer: Deployer): Promise<string> {
  const old = Array.from({ length: 56 }, (_, index) => `old-${index}`);
  await enqueueAll(deployed, old, 8_000);
  const future = await plantRowOfLaterVersion(deployed, 'old-0');
  const isRunning = (states: readonly { state: string }[]): boolean =>
    states.filter(({ state }) => state === 'running').length >= 8;
  await until('tasks are running', () => deployed.states(old), isRunning, NEXT_TICK_MS);

  const oldWorker = deployed.keepWorkerBundle();
  await whileBusy(deployer.deploy('2'), async (round) => {
    const more = Array.from({ length: 8 }, (_, index) => `meanwhile-${round}-${index}`);
    await enqueueAll(deployed, more, 8_000);
    old.push(...more);
  });
  const inFlight = (await deployed.states(old)).filter(({ state }) => state === 'running').length;
  assert(inFlight > 0, 'nothing was in flight when the new version had arrived');
  const fresh = Array.from({ length: 60 }, (_, index) => `new-${index}`);
  await enqueueAll(deployed, fresh, 4_000);
  await Promise.all([allDone(deployed, [...old, ...fresh]), deployed.work(oldWorker)]);
  await answered(() => deployed.leasehold.tasks.enqueue(crash, {}, { id: 'crash' }));
  await allDone(deployed, ['crash']);

  const ids = [...old, ...fresh, 'crash'];
  const effects = await deployed.effects();
  for (const id of ids)
    assert.equal(effects.get(id)?.times, 1, `${id} took effect ${effects.get(id)?.times ?? 0} times`);
  const byOld = fresh.filter((id) => effects.get(id)?.revision === '1').length;
  const byNew = ids.filter((id) => effects.get(id)?.revision === '2').length;
  assert(byOld > 0 && byNew > 0, `both versions should have been at work: ${byOld} and ${byNew} tasks were theirs`);
  assert.deepEqual(
    await deployed.readRow(taskKey(QUEUE, 'from-the-future')),
    future,
    'a row of a later version was rewritten',
  );
  const [skipped, takenOver] = [await deployed.reported('RowsSkipped'), await deployed.reported('TasksTakenOver')];
  assert(skipped > 0, 'no worker reported the row of a later version');
  assert(takenOver > 0, 'no worker took over from the dead ones');
  const attempts = effects.get('crash')?.attempt ?? 0;
  return (
    `${inFlight} were running at the upgrade; afterwards the old version did ${byOld} and the new ${byNew}; ` +
    `${takenOver} were taken over; the task that kills its worker was done by attempt ${attempts}`
  );
}

/** A due task as a later version of Leasehold might write it: this one must leave it alone. */
async function plantRowOfLaterVersion(deployed: Deployed, like: string): Promise<Record<string, unknown>> {
  const key = taskKey(QUEUE, 'from-the-future');
  const row = {
    ...(await deployed.readRow(taskKey(QUEUE, like))),
    ...key,
    id: 'from-the-future',
    v: 99,
    novelty: 'yes',
  };
  await deployed.writeRow(row);
  return row;
}

async function destroy(deployer: Deployer, emulator: Emulator): Promise<string> {
  await deployer.destroy();
  const { TableNames } = await emulator.call('dynamodb', 'DynamoDB_20120810.ListTables', {});
  assert.deepEqual(TableNames, [], 'tables were left behind');
  return 'no table is left';
}

async function allDone(deployed: Deployed, ids: readonly string[]) {
  return until(
    `${ids.length} tasks are done`,
    () => deployed.states(ids),
    (states) => states.length === ids.length && states.every(({ state }) => state === 'done' || state === 'dead'),
    ALL_DONE_MS,
  );
}

/** The emulator serves one request after the other, and on a busy machine the last outwaits its time; an id is the identity. */
async function enqueueAll(deployed: Deployed, ids: readonly string[], workMs: number): Promise<void> {
  for (const id of ids) await answered(() => deployed.leasehold.tasks.enqueue(record, { workMs }, { id }));
}

async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || attempt === MOST_ASKED) throw error;
      console.log(`asking again: ${error.message}`);
    }
  }
}

/** However long `work` takes, there is something to do until its end. */
async function whileBusy(work: Promise<void>, refill: (round: number) => Promise<void>): Promise<void> {
  const done = new AbortController();
  const refilled = (async () => {
    for (let round = 0; !done.signal.aborted; round++) {
      await refill(round);
      await wait(REFILL_MS, undefined, { signal: done.signal }).catch(() => undefined);
    }
  })();
  try {
    await work;
  } finally {
    done.abort();
    await refilled;
  }
}

async function step<T>(what: string, run: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await run();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`ok  ${seconds.padStart(6)} s  ${what}${typeof result === 'string' ? `: ${result}` : ''}`);
  return result;
}

new Command('npm run test:deploy').description('Deploys the stack to an emulator, and lets it do tasks.').parse();
try {
  await main();
} catch (error) {
  if (!(error instanceof EmulatorUnavailable)) throw error;
  console.error(error.message);
  process.exitCode = EX_TEMPFAIL;
}
