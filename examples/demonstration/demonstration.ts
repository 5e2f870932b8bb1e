/** The demonstration, from an empty table to the verdict. */
import { once } from 'node:events';
import { CreateTableCommand, ResourceInUseException, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { INVENTORY_TABLE, inventoryPackage } from './inventory/tasks.ts';
import { installedPackages } from './inventory/input.ts';
import { ConfigurationError, MismatchError } from '../../shared/core/errors.ts';
import { sessionTiming } from '../../shared/core/lease/timing.ts';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import { systemClock } from '../../shared/core/runtime/clock.ts';
import type { TaskRegistry } from '../../shared/tasks/task/definition.ts';
import type { BadLine } from '../../shared/tasks/queue/task-file.ts';
import { loadTasks } from '../../shared/tasks/task/load-module.ts';
import type { NewTask } from '../../shared/tasks/task/task-store.ts';
import type { TaskKey } from '../../shared/tasks/task/task.ts';
import type { EngineOptions } from '../../local/engine.ts';
import { startEngine } from '../../local/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { TABLE_NAME, startPlatform } from '../platform/platform.ts';
import { Census } from './census.ts';
import { serveConsole } from './console.ts';
import type { Display } from './display.ts';
import { seconds } from './display.ts';
import type { Killing } from './killer.ts';
import { killOneWorker } from './killer.ts';
import { readTaskFile } from './task-file.ts';
import type { Verdict } from './verdict.ts';
import { judge, readInventoryCommits } from './verdict.ts';
import { FleetView } from './worker-view.ts';

export interface DemonstrationOptions {
  readonly engine: EngineOptions;
  /** Where `node_modules` is, for the inventory. */
  readonly root: string;
  /** A file of tasks instead of the inventory. */
  readonly tasksFile: string | undefined;
  /** Absolute path of the module that defines the tasks. */
  readonly tasksEntry: string;
  readonly queue: string;
  readonly workers: number;
  readonly concurrency: number;
  readonly sessionTtlMs: number;
  readonly timeoutMs: number;
  readonly kill: boolean;
  readonly duplicateTicks: boolean;
  /** Serves the console's page while it runs. */
  readonly console: boolean;
  /** Leaves everything running after the verdict, until it is stopped. */
  readonly stay: boolean;
}

const TICK_MS = 1_000;
const DUPLICATE_TICK_RATE = 0.5;
const LOOK_EVERY_MS = 150;
const MAX_CLOCK_SKEW_MS = 1_000;
const WORKER_MEMORY_MB = 512;
/** The kill comes when this share of the work is done. */
const KILL_AFTER_SHARE = 0.2;

/**
 * @param tell receives the verdict as soon as it is found
 * @throws ConfigurationError, if possible before anything is started
 */
export async function demonstrate(
  options: DemonstrationOptions,
  display: Display,
  stop: AbortSignal,
  tell: (verdict: Verdict) => void,
): Promise<Verdict> {
  sessionTiming({ ttlMs: options.sessionTtlMs });
  const registry = await loadTasks(options.tasksEntry);
  const clock = systemClock;
  const fleet = new FleetView();
  // The number of tasks decides how many justify a worker, so the platform starts after they are counted; they are validated against it.
  const engine = await startEngine(options.engine);
  display.note(`engine     ${engine.kind} at ${engine.endpoint}`);
  if (engine.warning !== undefined) display.note(`warning    ${engine.warning}`);
  try {
    const platform = await startPlatform({
      engine: { kind: 'endpoint', endpoint: engine.endpoint },
      tasksEntry: options.tasksEntry,
      queue: options.queue,
      maxWorkers: options.workers,
      concurrency: options.concurrency,
      sessionTtlMs: options.sessionTtlMs,
      workerTimeoutMs: options.timeoutMs,
      deadlineMarginMs: Math.min(10_000, Math.floor(options.timeoutMs / 4)),
      workerMemoryMb: WORKER_MEMORY_MB,
      tickMs: TICK_MS,
      duplicateTickRate: options.duplicateTicks ? DUPLICATE_TICK_RATE : 0,
      maxClockSkewMs: MAX_CLOCK_SKEW_MS,
      onEvent: (event) => fleet.onEvent(event, clock.now()),
    });
    try {
      const settings = { queue: options.queue, maxClockSkewMs: MAX_CLOCK_SKEW_MS };
      await using _console = options.console ? await serveConsole(platform, settings, display) : undefined;
      const verdict = await run(platform, { options, registry, display, fleet, clock, stop });
      tell(verdict);
      if (options.stay) await stay(engine.endpoint, display, stop);
      return verdict;
    } finally {
      await platform.stop();
    }
  } finally {
    await engine.stop();
  }
}

async function stay(endpoint: string, display: Display, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return;
  display.note(`stays      engine at ${endpoint}, dispatcher, workers and the console: Ctrl+C ends them`);
  await once(stop, 'abort');
}

interface Stage {
  readonly options: DemonstrationOptions;
  readonly registry: TaskRegistry;
  readonly display: Display;
  readonly fleet: FleetView;
  readonly clock: Clock;
  readonly stop: AbortSignal;
}

async function run(platform: Platform, stage: Stage): Promise<Verdict> {
  const { options, registry, display, fleet, clock, stop } = stage;
  if (options.tasksFile === undefined) await createInventoryTable(platform.client);
  const input = await loadInput(platform, options, registry);
  for (const { line, error } of input.rejected) display.note(`line ${line} rejected: ${error}`);
  const outcomes = await platform.tasks.enqueueAll(input.tasks);
  const conflicts = outcomes.filter((outcome) => outcome instanceof MismatchError);
  for (const conflict of conflicts) display.note(`rejected: ${conflict.message}`);
  const keys = distinctKeys(outcomes.flatMap((outcome) => (outcome instanceof MismatchError ? [] : [outcome])));
  const { tasksFile } = options;
  const origin = tasksFile === undefined ? 'installed packages, whose files are counted' : `from ${tasksFile}`;
  display.note(`tasks      ${keys.length} ${origin}`);
  display.note(
    `workers    up to ${options.workers}, ${options.concurrency} tasks at a time each, session TTL ${seconds(options.sessionTtlMs)}`,
  );

  const census = new Census(platform.store, keys);
  const startedAt = clock.monotonic();
  platform.startSchedule();
  let killing: Promise<Killing | undefined> | undefined;
  const ended = new AbortController();
  try {
    while (!stop.aborted) {
      await census.refresh();
      const counts = census.counts();
      display.show({
        counts,
        total: census.total,
        workers: [...fleet.workers.values()],
        now: clock.now(),
        elapsedMs: clock.monotonic() - startedAt,
      });
      for (const failure of fleet.takeFailures()) display.note(`failed     ${failure}`);
      if (census.isDrained()) break;
      if (options.kill && counts.done >= census.total * KILL_AFTER_SHARE)
        killing ??= startKilling(platform, stage, keys, ended.signal);
      await clock.sleep(LOOK_EVERY_MS, stop);
    }
  } finally {
    ended.abort();
  }
  const elapsedMs = clock.monotonic() - startedAt;
  const killed = await killing;
  await settleFleet(fleet, clock);
  display.end();
  for (const task of census.records()) {
    if (task.state === 'dead')
      display.note(`dead       ${task.id}: ${task.lastError?.name ?? 'Error'}: ${task.lastError?.message ?? ''}`);
  }
  const commits =
    options.tasksFile === undefined
      ? await readInventoryCommits(
          platform.client,
          keys.map(({ id }) => id),
        )
      : undefined;
  return judge({
    census,
    fleet,
    killing: killed,
    enqueueUnits: platform.meter.read(),
    elapsedMs,
    rejected: input.rejected.length + conflicts.length,
    commits,
  });
}

function startKilling(
  { lambda, store }: Platform,
  { display, fleet, clock }: Stage,
  keys: readonly TaskKey[],
  signal: AbortSignal,
): Promise<Killing | undefined> {
  const killing = killOneWorker({ lambda, fleet, store, clock }, () => keys, signal).then((done) => {
    if (done !== undefined)
      display.note(`killed     ${done.environmentId} with SIGKILL, holding ${done.tasks.length} of its tasks`);
    return done;
  });
  // Its failure is met when all is over, and awaited only then.
  killing.catch(() => undefined);
  return killing;
}

/** The last workers still have their reports to write. */
async function settleFleet(fleet: FleetView, clock: Clock): Promise<void> {
  const isBusy = (): boolean =>
    [...fleet.workers.values()].some(({ state }) => state === 'working' || state === 'starting');
  for (let waited = 0; isBusy() && waited < SETTLE_LIMIT_MS; waited += LOOK_EVERY_MS) await clock.sleep(LOOK_EVERY_MS);
}

const SETTLE_LIMIT_MS = 5_000;

interface LoadedInput {
  readonly tasks: readonly NewTask[];
  readonly rejected: readonly BadLine[];
}

async function loadInput(
  platform: Platform,
  { tasksFile, root }: DemonstrationOptions,
  registry: TaskRegistry,
): Promise<LoadedInput> {
  if (tasksFile !== undefined) {
    const { lines, bad } = await readTaskFile(tasksFile, platform.tasks, registry);
    return { tasks: lines.map(({ task }) => task), rejected: bad };
  }
  const tasks = installedPackages(root).map((place) =>
    platform.tasks.validate(inventoryPackage, { root, place }, { id: place }),
  );
  return { tasks: await Promise.all(tasks), rejected: [] };
}

function distinctKeys(tasks: readonly { readonly queue: string; readonly id: string }[]) {
  return [...new Map(tasks.map(({ queue, id }) => [JSON.stringify([queue, id]), { queue, id }])).values()];
}

async function createInventoryTable(client: DynamoDBClient): Promise<void> {
  const definition = new CreateTableCommand({
    TableName: INVENTORY_TABLE,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'place', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'place', KeyType: 'HASH' }],
  });
  await client.send(definition).catch((error: unknown) => {
    if (!(error instanceof ResourceInUseException)) throw error;
    throw new ConfigurationError(
      `table ${INVENTORY_TABLE} is there already, of an earlier run whose tasks would not be run again: ` +
        `delete it and table ${TABLE_NAME}, or give another --endpoint`,
    );
  });
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 0.05, maxDelay: 1 }, { TableName: INVENTORY_TABLE });
}
