/**
 * What a tick costs whose queue has schedules: read units by how many there are and how many are due, and the CPU time of a tick
 * that makes a task of each of a thousand.
 *
 * The units are counted on the table in memory. The CPU time is that of this process over HTTP to an engine, the first tick included:
 * of a Lambda with 256 MB it is what 256/1,769 of a core take.
 */
import Table from 'cli-table3';
import { Command } from 'commander';
import type { DynamoDriver } from '../shared/dynamo/engine/driver.ts';
import { createMeter } from '../shared/dynamo/engine/meter.ts';
import { Sender } from '../shared/dynamo/engine/send.ts';
import { systemRuntime } from '../shared/core/runtime/runtime.ts';
import { inFlight } from '../shared/core/runtime/in-flight.ts';
import { enqueueDueSlots } from '../shared/tasks/dispatch/recur.ts';
import { createScheduleStore } from '../shared/tasks/rows/dynamo-schedule-store.ts';
import { ScheduleClient } from '../shared/tasks/schedule/schedule-client.ts';
import type { OverlapPolicy } from '../shared/tasks/schedule/schedule.ts';
import { memoryDynamo } from '../shared/testing/memory-table.ts';
import { simulatedDriver } from '../shared/testing/simulated-dynamo/driver.ts';
import type { BenchEngine } from './arguments.ts';
import { engineOption, wholeNumber } from './arguments.ts';
import { TABLE, openTable } from './table.ts';

interface Settings {
  readonly engine: BenchEngine;
  readonly schedules: number;
  readonly due: number;
  readonly atOnce: number;
  readonly json?: boolean;
}

interface TickCost {
  readonly schedules: number;
  readonly due: number;
  readonly overlap: OverlapPolicy;
  readonly made: number;
  readonly readUnits: number;
  readonly writeUnits: number;
  readonly requests: number;
  /** Of this process, where an engine was asked. */
  readonly cpuMs?: number;
  /** What that CPU time takes a function of 256 MB. */
  readonly at256MbMs?: number;
}

const QUEUE = 'bench';
const SHARDS = 8;
/** A Lambda has a whole core with 1,769 MB. */
const CORES_AT_256_MB = 256 / 1_769;
const DEFINED_IN_FLIGHT = 64;
const NOW = Date.UTC(2026, 0, 1, 12, 30);
const TICK_TIMEOUT_MS = 60_000;

export async function run(argv: readonly string[]): Promise<number> {
  const settings = parse(argv);
  const rows: TickCost[] = [];
  for (const schedules of [settings.due, settings.schedules]) rows.push(await inMemory(schedules, settings.due));
  await using table = await openTable(settings.engine);
  for (const overlap of ['allow', 'queue'] as const)
    rows.push(await tickOf(table.drivers.wire, `${QUEUE}-${overlap}`, settings.atOnce, settings.atOnce, overlap));
  console.log(settings.json === true ? JSON.stringify({ ticks: rows }) : tableOf(rows));
  const isMade = rows.every(({ due, made }) => made === due);
  return isMade && rows.every(({ at256MbMs = 0 }) => at256MbMs < TICK_TIMEOUT_MS) ? 0 : 1;
}

async function inMemory(schedules: number, due: number): Promise<TickCost> {
  const driver = simulatedDriver(memoryDynamo(TABLE, () => NOW));
  const { cpuMs: _, at256MbMs: __, ...cost } = await tickOf(driver, QUEUE, schedules, due, 'queue');
  return cost;
}

/** Defines the schedules half an hour before those that are due, and lets one tick come. */
async function tickOf(
  driver: DynamoDriver,
  queue: string,
  schedules: number,
  due: number,
  overlap: OverlapPolicy,
): Promise<TickCost> {
  let now = NOW;
  const clock = { ...systemRuntime.clock, now: () => now };
  const runtime = { ...systemRuntime, clock };
  const meter = createMeter();
  const storeOver = (sender: Sender) => createScheduleStore(sender, { table: TABLE, shards: SHARDS });
  const client = new ScheduleClient(
    { schedules: storeOver(new Sender({ driver, runtime: systemRuntime })), runtime },
    { queue },
  );
  const run = inFlight(DEFINED_IN_FLIGHT);
  await Promise.all(
    Array.from({ length: schedules }, (_, nth) =>
      run(() => client.define(`s${nth}`, 'report', null, { cron: nth < due ? '0 * * * *' : '0 0 1 1 *', overlap })),
    ),
  );
  now += 3_600_000;
  const store = storeOver(new Sender({ driver, runtime: systemRuntime, observer: meter }));
  const before = process.cpuUsage();
  const made = await enqueueDueSlots(queue, { schedules: store, runtime }, (error) => {
    throw error;
  });
  const { user, system } = process.cpuUsage(before);
  const { readUnits, writeUnits, requests } = meter.read();
  const cpuMs = Math.round((user + system) / 1_000);
  return {
    schedules,
    due,
    overlap,
    made,
    readUnits,
    writeUnits,
    requests,
    cpuMs,
    at256MbMs: Math.round(cpuMs / CORES_AT_256_MB),
  };
}

function tableOf(rows: readonly TickCost[]): string {
  const table = new Table({
    head: ['schedules', 'due', 'overlap', 'made', 'read units', 'write units', 'requests', 'CPU ms', 'ms at 256 MB'],
  });
  for (const row of rows)
    table.push([
      ...[row.schedules, row.due, row.overlap, row.made, row.readUnits, row.writeUnits, row.requests],
      ...[row.cpuMs ?? '', row.at256MbMs ?? ''],
    ]);
  return table.toString();
}

function parse(argv: readonly string[]): Settings {
  return new Command('npm run bench -- schedules')
    .addOption(engineOption())
    .option('--schedules <n>', 'schedules that there are', wholeNumber(1), 10_000)
    .option('--due <n>', 'of which so many are due', wholeNumber(1), 10)
    .option('--at-once <n>', 'schedules that are all due', wholeNumber(1), 1_000)
    .option('--json', 'one JSON object as the last line')
    .parse(argv, { from: 'user' })
    .opts<Settings>();
}
