/**
 * `npm run test:deploy`: deploys the stack, with the CDK's own commands, to an AWS emulator that acts on it.
 *
 * The test starts no worker by hand: it puts tasks into two queues with the public client, and then the deployed waker and schedules must
 * invoke workers, and the deployed bundles must do every task, under the deployed policies.
 * Workers are killed, the stack is upgraded, rolled back and destroyed, and its table restored, always with running tasks: in the end each
 * task must have taken effect once.
 *
 * Results do not depend on times. If tasks must run during an event, they wait at a gate that is opened afterwards.
 */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { Command } from 'commander';
import { METRIC } from '../../functions/metric-names.ts';
import { taskKey } from '../../shared/dynamo/engine/keys.ts';
import type { TaskKey, TaskRecord } from '../../shared/tasks/task/task.ts';
import type { Begun, Effect } from './deployed.ts';
import { answered, Deployed, until } from './deployed.ts';
import { Deployer } from './deployer.ts';
import type { Emulator } from './emulator.ts';
import { EmulatorUnavailable, startEmulator } from './emulator.ts';
import { printGaps } from './gaps.ts';
import { restore } from './restore.ts';
import type { Revision } from './settings.ts';
import { step } from './step.ts';
import { BESIDE, EFFECTS_TABLE, QUEUE, QUEUES, RESTORED_TABLE } from './settings.ts';
import { crash, nothing, probe } from './tasks.ts';

/** For what hangs: ticks come once a minute, and tasks take seconds. */
const SOON_MS = 600_000;
const ALL_DONE_MS = 1_200_000;
const ALL_TASKS = 360;
/** With default settings, one for every ten tasks whose time nobody knows. */
const FANNED_OUT = { tasks: 60, workers: 6 };
/** Polls come once a second. */
const LOOKS_TO_NUDGE = 10;

const PAUSE_MS = 3_000;

/** In the queue whose workers are all Lambda's. */
const CRASH: TaskKey = { queue: BESIDE, id: 'crash' };

/** Not tested, because this machine has no emulator and could not get one. */
const EX_TEMPFAIL = 75;

async function main(): Promise<void> {
  // Both take the machine for a while, the one its network and the other its processor.
  const [emulator] = await step('install and start the emulator, and bundle three stacks', () =>
    Promise.all([startEmulator(), Deployer.synthesize()]),
  );
  try {
    const deployer = new Deployer(emulator);
    await step('cdk bootstrap', () => Promise.all([deployer.bootstrap(), makeEffectsTable(emulator)]));
    await step('cdk deploy', () => deployer.deploy('1'));
    const { TableName: table, DispatcherFunctionName: dispatcher } = deployer.outputs();
    const all: TaskKey[] = [];
    {
      using deployed = new Deployed(emulator, table);
      await step('60 tasks that wait at a gate get six workers before the first has ended', async () => {
        all.push(...(await fanOut(deployed)));
      });
      await step('without a schedule, tasks of two queues are done: the table’s stream wakes workers', async () => {
        all.push(...(await wake(deployed)));
      });
      await step('a worker can do nothing beside its work', () =>
        permissions(deployed, emulator, { table, dispatcher }),
      );
      await step('all workers are killed, and the stack is upgraded', () => killAndUpgrade(deployed, deployer, all));
      await step('the stack is rolled back, with tasks between', () => rollBack(deployed, deployer, all));
      await step('what this emulator cannot show', () => printGaps(deployed, emulator));
      const left = await step('cdk destroy, with tasks at work', () => destroy(deployed, deployer, emulator));
      all.push(...left, CRASH);
    }
    await step('the table is restored beside the old one, and made safe', () => restore(emulator, deployer, table));
    await step('another stack imports it', () => deployer.deploy('restored'));
    using restored = new Deployed(emulator, RESTORED_TABLE);
    await step('by its schedule alone it does what was left', () => finish(restored, all));
  } catch (error) {
    console.error(`--- the emulator's last lines ---\n${emulator.story()}`);
    throw error;
  } finally {
    await emulator.stop();
  }
}

async function fanOut(deployed: Deployed): Promise<readonly TaskKey[]> {
  const keys = named('fanned', FANNED_OUT.tasks, QUEUE);
  await deployed.enqueue(keys, 'fanned out');
  const nudge = nudging(deployed);
  const look = async () => {
    await nudge();
    return deployed.tasks(keys);
  };
  const holders = (tasks: readonly TaskRecord[]): number =>
    new Set(tasks.flatMap((task) => (task.state === 'running' ? [task.session] : []))).size;
  const enough = (tasks: readonly TaskRecord[]): boolean => holders(tasks) >= FANNED_OUT.workers;
  const tasks = await until('six workers hold tasks', look, enough, SOON_MS);
  assert(
    tasks.every(({ state }) => state === 'ready' || state === 'running'),
    'a task was done whose gate is closed',
  );
  await deployed.openGate('fanned out');
  await allDone(deployed, keys);
  await ensureOnce(deployed, keys);
  return keys;
}

async function wake(deployed: Deployed): Promise<readonly TaskKey[]> {
  const keys = [...named('woken', 50, QUEUE), ...named('woken', 50, BESIDE)];
  await deployed.enqueue(keys);
  // Twice is once: the id is the identity.
  await deployed.enqueue(keys.slice(0, 1));

  await allDone(deployed, keys, nudging(deployed));
  await ensureOnce(deployed, keys);
  const logs = await until(
    'the waker has logged that it woke both queues',
    () => deployed.logs(),
    (lines) => QUEUES.every((queue) => lines.some((line) => line.message === 'queue woken' && line.queue === queue)),
    SOON_MS,
  );
  const ticks = logs.filter(({ message }) => message === 'tick dispatched');
  assert.deepEqual(ticks, [], 'a schedule that is disabled has fired');
  for (const { revision } of (await deployed.effects()).values()) assert.equal(revision, '1');
  return keys;
}

async function permissions(
  deployed: Deployed,
  emulator: Emulator,
  { table, dispatcher }: { readonly table: string; readonly dispatcher: string },
): Promise<string> {
  const before = emulator.refusals();
  assert.deepEqual(before, [], 'the first tasks were refused something that they need');
  await answered(() => deployed.leasehold.tasks.enqueue(probe, { table, dispatcher }, { id: 'probe' }));
  const [task] = await allDone(deployed, [{ queue: QUEUE, id: 'probe' }], nudging(deployed));
  assert(task?.state === 'done');
  const { outcomes } = task.result as { outcomes: Record<string, string> };
  assert.deepEqual(new Set(Object.values(outcomes)), new Set(['AccessDeniedException']), JSON.stringify(outcomes));
  return `refused: ${Object.keys(outcomes).join(', ')}`;
}

/**
 * Kills all workers, with schedules off, before the new version arrives.
 * The emulator ends all old environments at once, which is harder than AWS but shows no two versions side by side.
 * So one environment of the old version, with its real bundle, continues in a process of this test.
 */
async function killAndUpgrade(deployed: Deployed, deployer: Deployer, all: TaskKey[]): Promise<string> {
  const keys = [...named('killed', 50, QUEUE), ...named('killed', 20, BESIDE)];
  await deployed.enqueue(keys, 'upgraded');
  const future = await plantRowOfLaterVersion(deployed, keys[0]!);
  const victims = await killWorkers(deployed, keys);

  await beside(deployer, '1', async () => {
    await deployer.deploy('2');
    await deployed.enableSchedules();
    await atGate(deployed, keys, [
      { revision: '1', isOurs: true },
      { revision: '2', isOurs: false },
    ]);
    await deployed.openGate('upgraded');
    await allDone(deployed, keys);
  });
  all.push(...keys);

  await ensureOnce(deployed, all);
  const effects = await deployed.effects();
  for (const id of victims) assert((effects.get(id)?.attempt ?? 0) > 1, `${id} was not taken over`);
  const row = await deployed.readRow(taskKey(QUEUE, 'from-the-future'));
  assert.deepEqual(row, future, 'a row of another version was rewritten');
  const isReported = (count: number): boolean => count > 0;
  await until('a row was skipped', () => deployed.reported(METRIC.rowsSkipped), isReported, SOON_MS);
  return `${victims.length} were at work when their workers were killed, and were taken over; ${share(effects, keys)}`;
}

/** Back to the first version, with tasks at work that the second has begun, and one on its way that kills its worker. */
async function rollBack(deployed: Deployed, deployer: Deployer, all: TaskKey[]): Promise<string> {
  await answered(() => deployed.leasehold.tasks.enqueue(crash, {}, { ...CRASH }));
  const between = [...named('between', 30, QUEUE), ...named('between', 9, BESIDE)];
  await deployed.enqueue(between, 'rolled back');
  await atGate(deployed, between, [{ revision: '2', isOurs: false }]);

  const after = named('after', 20, QUEUE);
  const keys = [...between, ...after];
  await beside(deployer, '2', async () => {
    await deployer.deploy('1');
    await deployed.enableSchedules();
    await deployed.enqueue(after, 'rolled back');
    await atGate(deployed, keys, [
      { revision: '2', isOurs: true },
      { revision: '1', isOurs: false },
    ]);
    await deployed.openGate('rolled back');
    await allDone(deployed, keys);
  });
  all.push(...keys);

  await ensureOnce(deployed, all);
  return share(await deployed.effects(), keys);
}

/** Destroys the stack with its workers; the table stays, with the unfinished tasks. */
async function destroy(deployed: Deployed, deployer: Deployer, emulator: Emulator): Promise<readonly TaskKey[]> {
  const keys = [...named('left', 45, QUEUE), ...named('left', 25, BESIDE)];
  await deployed.enqueue(keys, 'restored');
  await atGate(deployed, keys, [{ revision: '1', isOurs: false }]);
  for (const queue of QUEUES) await answered(() => deployed.leasehold.operator.pause({ queue, reason: 'moves' }));
  await deployer.destroy('1');

  const { TableName } = deployer.outputs();
  const { TableNames } = await emulator.call('dynamodb', 'DynamoDB_20120810.ListTables', {});
  assert.deepEqual(new Set(TableNames as string[]), new Set([TableName, EFFECTS_TABLE]));
  const { Table } = await emulator.call('dynamodb', 'DynamoDB_20120810.DescribeTable', { TableName });
  assert.equal((Table as { DeletionProtectionEnabled: boolean }).DeletionProtectionEnabled, true);
  const done = (await deployed.tasks(keys)).filter(({ state }) => state === 'done');
  assert.deepEqual(done, [], 'tasks were done whose gate is closed');
  return keys;
}

async function finish(restored: Deployed, all: readonly TaskKey[]): Promise<string> {
  await restored.openGate('restored');
  for (const queue of QUEUES) await answered(() => restored.leasehold.operator.resume({ queue, reason: 'moved' }));
  await allDone(restored, all);
  await ensureOnce(restored, all);
  const effects = await restored.effects();
  assert.equal(all.length, ALL_TASKS);
  const attempts = effects.get(CRASH.id)?.attempt ?? 0;
  assert(attempts > 1, 'the task that kills its worker was done by its first attempt');
  assert.deepEqual(new Set(effects.keys()), new Set(all.map(({ id }) => id)));
  return `${effects.size} of ${ALL_TASKS} tasks have taken effect once; ${share(effects, all)}; the one that kills its worker did by attempt ${attempts}`;
}

/** While `replace` runs, one environment of a revision goes on: again, too, when there was no permit or nothing to do for it. */
async function beside(deployer: Deployer, revision: Revision, replace: () => Promise<void>): Promise<void> {
  const replaced = new AbortController();
  const { signal } = replaced;
  const goOn = async (): Promise<void> => {
    while (!signal.aborted) {
      await deployer.work(revision);
      await wait(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  await Promise.all([goOn(), replace().finally(() => replaced.abort())]);
}

function named(prefix: string, count: number, queue: string): TaskKey[] {
  return Array.from({ length: count }, (_, index) => ({ queue, id: `${prefix}-${queue}-${index}` }));
}

/**
 * Kills the processes of all workers that have one of these tasks, until all have ended. Schedules are off, so they are not replaced.
 * @returns the ids of the tasks that were running
 */
async function killWorkers(deployed: Deployed, keys: readonly TaskKey[]): Promise<readonly string[]> {
  const killed = new Set<number>();
  const sessions = new Set<string>();
  const nudge = nudging(deployed);
  const look = async () => {
    await nudge();
    const begun = await deployed.begun(keys);
    for (const { process: pid } of begun.values()) {
      if (!killed.has(pid)) process.kill(pid, 'SIGKILL');
      killed.add(pid);
    }
    const running = (await deployed.tasks(keys)).filter((task) => task.state === 'running');
    // Not each of its tasks has come to the gate when a worker is killed.
    for (const { id, session } of running) if (begun.has(id)) sessions.add(session);
    return running;
  };
  const victims = await until(
    'the workers of all running tasks are killed',
    look,
    (running) => running.length > 0 && running.every(({ session }) => sessions.has(session)),
    SOON_MS,
  );
  return victims.map(({ id }) => id);
}

/** Waits until each of these has a task at the gate, so that it certainly does some when the gate opens. */
async function atGate(deployed: Deployed, keys: readonly TaskKey[], wanted: readonly Runner[]): Promise<void> {
  const isThere = (begun: ReadonlyMap<string, Begun>): boolean =>
    wanted.every((one) =>
      [...begun.values()].some(({ revision, isOurs }) => revision === one.revision && isOurs === one.isOurs),
    );
  await until(`tasks are run by ${JSON.stringify(wanted)}`, () => deployed.begun(keys), isThere, ALL_DONE_MS);
}

/** A revision's workers: in Lambda, or the one in a process of this test. */
interface Runner {
  readonly revision: Revision;
  readonly isOurs: boolean;
}

function share(effects: ReadonlyMap<string, Effect>, keys: readonly TaskKey[]): string {
  const by = Map.groupBy(keys, ({ id }) => effects.get(id)?.revision ?? 'none');
  return [...by].map(([revision, done]) => `revision ${revision} did ${done.length}`).join(', ');
}

async function ensureOnce(deployed: Deployed, keys: readonly TaskKey[]): Promise<void> {
  const effects = await deployed.effects();
  const wrong = keys.filter(({ id }) => effects.get(id)?.times !== 1);
  const seen = wrong.map(({ id }) => `${id}: ${effects.get(id)?.times ?? 0} times`);
  assert.deepEqual(seen, [], 'each task should have taken effect once');
}

/** A due task as a later version of Leasehold might write it: this one must leave it alone. */
async function plantRowOfLaterVersion(deployed: Deployed, like: TaskKey): Promise<Record<string, unknown>> {
  const key = taskKey(QUEUE, 'from-the-future');
  const row = {
    ...(await deployed.readRow(taskKey(like.queue, like.id))),
    ...key,
    id: 'from-the-future',
    v: 99,
    novelty: 'yes',
  };
  await deployed.writeRow(row);
  return row;
}

/** The test makes it itself, so that it stays when the stacks go. */
async function makeEffectsTable(emulator: Emulator): Promise<void> {
  await emulator.call('dynamodb', 'DynamoDB_20120810.CreateTable', {
    TableName: EFFECTS_TABLE,
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    BillingMode: 'PAY_PER_REQUEST',
  });
}

async function allDone(deployed: Deployed, keys: readonly TaskKey[], nudge?: () => Promise<void>) {
  return until(
    `${keys.length} tasks are done`,
    async () => {
      await nudge?.();
      return deployed.tasks(keys);
    },
    (tasks) => tasks.length === keys.length && tasks.every(({ state }) => state === 'done' || state === 'dead'),
    ALL_DONE_MS,
  );
}

/**
 * A task may be enqueued just when the last worker exits, while the waker still counts that worker: then the next tick finds the task.
 * Without a schedule, the next enqueued task also helps: every `LOOKS_TO_NUDGE` polls this enqueues an empty one.
 */
function nudging(deployed: Deployed): () => Promise<void> {
  let looks = 0;
  return async () => {
    if (++looks % LOOKS_TO_NUDGE !== 0) return;
    for (const queue of QUEUES) await answered(() => deployed.leasehold.tasks.enqueue(nothing, {}, { queue }));
  };
}

new Command('npm run test:deploy').description('Deploys the stack to an emulator, and lets it do tasks.').parse();
try {
  await main();
} catch (error) {
  if (!(error instanceof EmulatorUnavailable)) throw error;
  console.error(error.message);
  process.exitCode = EX_TEMPFAIL;
}
