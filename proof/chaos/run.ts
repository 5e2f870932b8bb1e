/** One run: deploy, torment, heal, wait until all work is done, gather the evidence, judge. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
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
import type { Evidence, PlatformTally } from './evidence.ts';
import { readLedger, readRegisters } from './evidence.ts';
import { readJournal } from './journal.ts';
import { Nemesis } from './nemesis.ts';
import { Producer } from './producer.ts';
import type { Profile } from './profile.ts';
import type { Judgement } from './verdict.ts';
import { judge, missedFaults } from './verdict.ts';

interface ChaosOptions {
  readonly endpoint: string;
  readonly minutes: number;
  /**
   * Goes on for as long as that until a task is done, a lock granted, an update acknowledged, a process and a request were hit,
   * and each kind of fault was met that the verdict wants to see in a run of that length.
   */
  readonly longestMinutes?: number;
  readonly seed: bigint;
  readonly profile: Profile;
  /** Told a few times a second. */
  readonly onProgress?: (progress: Progress) => void;
  /** Ends the torment early; the work so far is judged. */
  readonly stop?: AbortSignal;
}

export interface Progress {
  readonly phase: 'tormenting' | 'healing';
  readonly elapsedMs: number;
  readonly tasks: number;
  readonly open: number;
  readonly processFaults: number;
  readonly ambiguousOutcomes: number;
  readonly takeovers: number;
}

export interface ChaosResult extends Judgement {
  /** Time from the last fault until no work was left; null if the work never ended. */
  readonly healedSeconds: number | null;
}

const TICK_MS = 1_000;
const LOOK_EVERY_MS = 250;
/** Without a task that ends: the last worker may have been frozen just before the end, and the tasks that it holds wait for its TTL. */
const STANDSTILL_LIMIT_MS = 90_000;

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'leasehold-chaos-'));
  try {
    return await runIn(folder, options);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runIn(folder: string, options: ChaosOptions): Promise<ChaosResult> {
  const { endpoint, profile, seed, stop } = options;
  const journal = path.join(folder, 'journal.jsonl');
  await writeFile(journal, '');
  const platform = createPlatformTally();
  const onEvent = (event: LambdaEvent): void => {
    countEvent(platform, event);
  };
  const deployment = await deploy({ endpoint, profile, seed, journal, onEvent });
  const random = new Prng(seed);
  const nemesis = new Nemesis({ ...deployment, random: random.fork('nemesis') }, profile);
  const faulty = deployment.clientNamed('producer');
  const producer = new Producer(
    { faulty, direct: deployment.client },
    { table: deployment.tables.leasehold, openTasks: profile.openTasks },
  );
  const load = startLoad(deployment, profile, random.fork('schedule'));
  const producing = new AbortController();
  try {
    const began = systemClock.monotonic();
    const produced = producer.produce(producing.signal);
    const report = (phase: Progress['phase']): void => {
      options.onProgress?.({
        phase,
        elapsedMs: systemClock.monotonic() - began,
        tasks: producer.acknowledged.length,
        open: producer.open,
        processFaults: faultsOf(nemesis) + platform.timeouts,
        ambiguousOutcomes: deployment.proxy.tally.ambiguous.applied + deployment.proxy.tally.ambiguous.lost,
        takeovers: platform.takeovers,
      });
    };
    nemesis.start();
    const hasHappened = (): boolean => {
      const { applied, lost } = deployment.proxy.tally.ambiguous;
      const kinds = new Set(readJournal(journal).flatMap(({ kind, arm }) => (arm === 'fenced' ? [kind] : [])));
      const wanted = ['committed', 'granted', 'acknowledged'] as const;
      const { tally: processFaults, partitions } = nemesis;
      const torment = { processFaults, partitions, platform, network: deployment.proxy.tally };
      const hasMissedNone = missedFaults(options.minutes, torment).length === 0;
      return wanted.every((kind) => kinds.has(kind)) && faultsOf(nemesis) > 0 && applied + lost > 0 && hasMissedNone;
    };
    const isGoingOn = (): boolean => {
      const minutesGone = (systemClock.monotonic() - began) / 60_000;
      if (minutesGone < options.minutes) return true;
      return options.longestMinutes !== undefined && minutesGone < options.longestMinutes && !hasHappened();
    };
    while (isGoingOn() && stop?.aborted !== true) {
      report('tormenting');
      await systemClock.sleep(LOOK_EVERY_MS, stop);
    }
    await nemesis.stop();
    deployment.proxy.heal();
    producing.abort();
    await produced;
    load.stopHolders();
    const minutes = (systemClock.monotonic() - began) / 60_000;

    const healedAt = systemClock.monotonic();
    const isOver = await waitUntilOver(async () => {
      report('healing');
      await producer.look();
      return { open: producer.open, isOver: producer.open === 0 && isIdle(deployment) };
    });
    const healedSeconds = isOver ? Math.round((systemClock.monotonic() - healedAt) / 100) / 10 : null;
    await load.stop();
    const leaks = await findLeaks(deployment, profile);
    const evidence: Evidence = {
      minutes: Math.round(minutes * 100) / 100,
      clocksWithinBound: profile.clock.withinBound,
      acknowledged: producer.acknowledged,
      rows: await producer.rows(),
      ledger: await readLedger(deployment.client, deployment.tables.ledger),
      registers: await readRegisters(deployment),
      journal: readJournal(journal),
      network: deployment.proxy.tally,
      processFaults: nemesis.tally,
      partitions: nemesis.partitions,
      platform,
      leaks,
    };
    return { ...judge(evidence), healedSeconds };
  } finally {
    producing.abort();
    await nemesis.stop();
    await load.stop();
    await deployment.stop();
    faulty.destroy();
  }
}

function faultsOf({ tally }: Nemesis): number {
  return Object.values(tally).reduce((sum, count) => sum + count, 0);
}

/** Wakes the dispatcher, every other tick twice, and keeps as many lock holders at work as the profile wants. */
function startLoad({ lambda }: Deployment, profile: Profile, random: Prng) {
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
      for (let missing = profile.fleet.lockHolders - atWork; missing > 0; missing--)
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
async function findLeaks({ client, tables }: Deployment, { protocol }: Profile): Promise<Evidence['leaks']> {
  await systemClock.sleep(protocol.sessionTtlMs + 2 * protocol.maxClockSkewMs);
  const sender = new Sender({ driver: createSdkDriver(client), runtime: systemRuntime, policy: PATIENT });
  const sessions = createSessionStore(sender, tables.leasehold);
  const semaphores = createSemaphoreStore(sender, tables.leasehold);
  const ports = { sessions, semaphores, runtime: systemRuntime, gauge: noSkewGauge };
  const permits = (await new SemaphoreClient(ports, protocol).get(workersSemaphore(QUEUE)))?.live ?? 0;
  let live = 0;
  for await (const session of new SessionClient(ports, protocol.maxClockSkewMs).list())
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

function createPlatformTally(): PlatformTally {
  return { invocations: 0, timeouts: 0, takeovers: 0, duplicateTicks: 0, sessionsLost: 0, errors: new Map() };
}

function countEvent(tally: PlatformTally, event: LambdaEvent): void {
  if (event.type === 'invocationStarted') tally.invocations++;
  if (event.type === 'environmentKilled' && event.by === 'timeout') tally.timeouts++;
  if (event.type === 'invocationEnded' && event.error !== undefined) {
    const { errorType, errorMessage } = event.error;
    const seen = tally.errors.get(errorType) ?? { count: 0, example: errorMessage };
    tally.errors.set(errorType, { ...seen, count: seen.count + 1 });
  }
  if (event.type !== 'log') return;
  // The workers' own structured log.
  if (event.line.includes('"takenOver":true')) tally.takeovers++;
  if (event.line.includes('"session lost"')) tally.sessionsLost++;
  if (event.line.includes('"duplicate":true')) tally.duplicateTicks++;
}
