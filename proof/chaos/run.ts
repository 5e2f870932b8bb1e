/** One run: deploy, torment, heal, wait until all work is done, gather the evidence, judge. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb';
import type { LambdaEvent } from '../../examples/platform/lambda/events.ts';
import { startSchedule } from '../../examples/platform/schedule.ts';
import { workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import { createSdkDriver } from '../../shared/dynamo/wire/sdk-driver.ts';
import { createSemaphoreStore } from '../../shared/coordination/semaphore/row/dynamo-semaphore-store.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createSessionStore } from '../../shared/session/row/dynamo-session-store.ts';
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { systemClock } from '../../shared/core/runtime/clock.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { SemaphoreClient } from '../../shared/coordination/semaphore/semaphore-client.ts';
import { SessionClient } from '../../shared/session/session-client.ts';
import { Prng } from '../../test/support/machines/prng.ts';
import type { Deployment } from './deployment.ts';
import { PATIENT } from '../../test/support/patient.ts';
import { FUNCTIONS, QUEUE, deploy } from './deployment.ts';
import { readJournal } from './journal.ts';
import { Nemesis } from './nemesis.ts';
import { Producer } from './producer.ts';
import type { Arm } from './profile.ts';
import { FATES, FLEET, PROCESS_FAULTS, PROTOCOL } from './profile.ts';
import type { Evidence } from './verdict.ts';
import { judge } from './verdict.ts';

interface ChaosOptions {
  readonly endpoint: string;
  /** The shortest run. A run is longer, by at most `LONGER_MINUTES`, until each kind of fault and of work has occurred. */
  readonly minutes: number;
  readonly seed: number;
}

const LONGER_MINUTES = 8;
const TICK_MS = 1_000;
const LOOK_EVERY_MS = 250;
/** Without a task that ends: the last worker may have been frozen just before the end, and the tasks that it holds wait for its TTL. */
const STANDSTILL_LIMIT_MS = 90_000;

export async function runChaos(options: ChaosOptions) {
  const folder = await mkdtemp(path.join(tmpdir(), 'leasehold-chaos-'));
  try {
    return await runIn(folder, options);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runIn(folder: string, { endpoint, minutes, seed }: ChaosOptions) {
  const journal = path.join(folder, 'journal.jsonl');
  await writeFile(journal, '');
  const platform = { timeouts: 0, takeovers: 0, errors: new Map<string, string>() };
  const onEvent = (event: LambdaEvent): void => {
    if (event.type === 'environmentKilled' && event.by === 'timeout') platform.timeouts++;
    if (event.type === 'invocationEnded' && event.error !== undefined)
      platform.errors.set(event.error.errorType, event.error.errorMessage);
    // The workers' own structured log.
    if (event.type === 'log' && event.line.includes('task taken over from a dead worker')) platform.takeovers++;
  };
  const deployment = await deploy({ endpoint, seed, journal, onEvent });
  const random = new Prng(BigInt(seed));
  const nemesis = new Nemesis({ ...deployment, random: random.fork('nemesis') });
  const faulty = deployment.clientNamed('producer');
  const producer = new Producer(faulty, deployment);
  const load = startLoad(deployment, random.fork('schedule'));
  const producing = new AbortController();
  /** Faults and results that a run needs to count. */
  const missed = (): readonly string[] => {
    const work = new Set(readJournal(journal).flatMap(({ kind, arm }) => (arm === 'fenced' ? [kind] : [])));
    const met: ReadonlySet<string> = new Set([...deployment.proxy.tally.keys(), ...nemesis.tally.keys(), ...work]);
    const faults = Object.keys({ ...FATES, ...PROCESS_FAULTS }).filter((fault) => fault !== 'timeout');
    return [
      ...[...faults, 'partition', 'committed', 'granted', 'acknowledged'].filter((what) => !met.has(what)),
      ...(platform.timeouts === 0 ? ['timeout'] : []),
      ...(platform.takeovers === 0 ? ['takeover'] : []),
    ];
  };
  try {
    const began = systemClock.monotonic();
    const produced = producer.produce(producing.signal);
    nemesis.start();
    const minutesGone = (): number => (systemClock.monotonic() - began) / 60_000;
    while (minutesGone() < minutes || (minutesGone() < minutes + LONGER_MINUTES && missed().length > 0))
      await systemClock.sleep(LOOK_EVERY_MS);
    await nemesis.stop();
    deployment.proxy.heal();
    producing.abort();
    await produced;
    load.stopHolders();

    const healedAt = systemClock.monotonic();
    const isOver = await waitUntilOver(async () => {
      const open = await producer.look();
      return { open, isOver: open === 0 && isIdle(deployment) };
    });
    const healedSeconds = isOver ? Math.round((systemClock.monotonic() - healedAt) / 100) / 10 : null;
    await load.stop();
    const leaks = await findLeaks(deployment);
    const evidence: Evidence = {
      ...(await readEffects(deployment)),
      acknowledged: producer.acknowledged,
      rows: await producer.rows(),
      journal: readJournal(journal),
      errors: platform.errors,
      leaks,
    };
    const { broken, controlLosses } = judge(evidence);
    const updatesOf = (wanted: Arm): number =>
      evidence.journal.filter((line) => line.kind === 'acknowledged' && line.arm === wanted).length;
    const figures = {
      tasks: evidence.acknowledged.length,
      grants: evidence.journal.filter(({ kind }) => kind === 'granted').length,
      acknowledgedUpdates: updatesOf('fenced'),
      updatesOfControl: updatesOf('naive'),
      takeovers: platform.takeovers,
      timeouts: platform.timeouts,
      ambiguousOutcomes: deployment.proxy.ambiguous,
      ...Object.fromEntries([...nemesis.tally, ...deployment.proxy.tally]),
    };
    const kept = Object.keys(broken).length === 0 && missed().length === 0 && healedSeconds !== null;
    return { kept, broken, missed: missed(), controlLosses, figures, healedSeconds };
  } finally {
    producing.abort();
    await nemesis.stop();
    await load.stop();
    await deployment.stop();
    faulty.destroy();
  }
}

async function readEffects({ client, tables }: Deployment): Promise<Pick<Evidence, 'ledger' | 'registers'>> {
  const documents = DynamoDBDocumentClient.from(client);
  const itemsOf = async (TableName: string) => {
    const pages = await Array.fromAsync(paginateScan({ client: documents }, { TableName, ConsistentRead: true }));
    return pages.flatMap(({ Items = [] }) => Items);
  };
  const ledger = await itemsOf(tables.ledger);
  const registers = await itemsOf(tables.register);
  return {
    ledger: new Map(
      ledger.map(({ id, commits, token }) => [String(id), { commits: Number(commits), token: Number(token) }]),
    ),
    registers: new Map(registers.map(({ key, list }) => [String(key), (list ?? []) as string[]])),
  };
}

/** Wakes the dispatcher, every other tick twice, and replaces lock holders that have ended. */
function startLoad({ lambda }: Deployment, random: Prng) {
  const holders = new AbortController();
  const schedule = startSchedule({
    name: 'chaos',
    everyMs: TICK_MS,
    duplicateRate: 0.5,
    clock: systemClock,
    random,
    deliver: async (tick) => {
      await lambda.invoke(FUNCTIONS.dispatch, tick, 'Event');
    },
  });
  const holding = keepHolders();
  async function keepHolders(): Promise<void> {
    while (!holders.signal.aborted) {
      const atWork = lambda
        .environments()
        .filter(({ functionName, state }) => functionName === FUNCTIONS.register && state !== 'idle').length;
      for (let missing = FLEET.lockHolders - atWork; missing > 0; missing--)
        await lambda.invoke(FUNCTIONS.register, {}, 'Event');
      await systemClock.sleep(LOOK_EVERY_MS * 2, holders.signal);
    }
  }
  return {
    stopHolders(): void {
      holders.abort();
    },
    async stop(): Promise<void> {
      holders.abort();
      await holding;
      await schedule.stop();
    },
  };
}

/** Dispatchers come and go with the schedule. */
function isIdle({ lambda }: Deployment): boolean {
  return lambda
    .environments()
    .every(({ functionName, state }) => state === 'idle' || functionName === FUNCTIONS.dispatch);
}

/** Sessions end by themselves, or by their TTL once they are no longer renewed: any that are still live after that were leaked. */
async function findLeaks({ client, tables }: Deployment): Promise<Evidence['leaks']> {
  await systemClock.sleep(PROTOCOL.sessionTtlMs + 2 * PROTOCOL.maxClockSkewMs);
  const sender = new Sender({ driver: createSdkDriver(client), runtime: systemRuntime, policy: PATIENT });
  const sessions = createSessionStore(sender, tables.leasehold);
  const semaphores = createSemaphoreStore(sender, tables.leasehold);
  const ports = { sessions, semaphores, runtime: systemRuntime, gauge: noSkewGauge };
  const permits = (await new SemaphoreClient(ports, PROTOCOL).get(workersSemaphore(QUEUE)))?.live ?? 0;
  let live = 0;
  for await (const session of new SessionClient(ports, PROTOCOL.maxClockSkewMs).list())
    if (session.status === 'live' && (session.expiresAt ?? Infinity) > systemClock.now()) live++;
  return { permits, sessions: live };
}

/** False if no task has ended for too long; the amount of work and the speed of the machine do not matter. */
async function waitUntilOver(
  look: () => Promise<{ readonly open: number; readonly isOver: boolean }>,
): Promise<boolean> {
  let fewest = Infinity;
  let movedAt = systemClock.monotonic();
  for (;;) {
    const { open, isOver } = await look();
    if (isOver) return true;
    if (open < fewest) movedAt = systemClock.monotonic();
    fewest = Math.min(fewest, open);
    if (systemClock.monotonic() - movedAt > STANDSTILL_LIMIT_MS) return false;
    await systemClock.sleep(LOOK_EVERY_MS);
  }
}
