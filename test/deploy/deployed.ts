/** The deployed system from the users' side: the public client, the effects of tasks, the logs, and the schedules' switch. */
import { setTimeout as wait } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { defined } from '../../shared/core/defined.ts';
import { StoreUnavailableError } from '../../shared/core/errors.ts';
import type { Leasehold } from '../../shared/client/leasehold.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { sideBySide } from '../../shared/core/runtime/in-flight.ts';
import type { TaskKey, TaskRecord } from '../../shared/tasks/task/task.ts';
import type { Emulator } from './emulator.ts';
import { begunKey, EFFECTS_TABLE, gateKey, QUEUE, REGION, SHARDS } from './settings.ts';
import { record } from './tasks.ts';

/** Reads of single tasks. */
const READS_AT_ONCE = 4;
const MOST_ASKED = 20;

export interface Effect {
  readonly id: string;
  /** How often the task's transaction was applied. */
  readonly times: number;
  readonly revision: string;
  readonly attempt: number;
}

/** An attempt that has come to its gate. */
export interface Begun {
  readonly revision: string;
  readonly attempt: number;
  readonly process: number;
  /** It is the worker in a process of the test's own. */
  readonly isOurs: boolean;
}

export class Deployed implements Disposable {
  readonly leasehold: Leasehold;
  readonly #table: string;
  readonly #documents: DynamoDBDocumentClient;
  readonly #emulator: Emulator;

  constructor(emulator: Emulator, table: string) {
    this.#emulator = emulator;
    this.#table = table;
    const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '' } = emulator.environment;
    const clientConfig = { region: REGION, credentials: { accessKeyId, secretAccessKey } };
    const { endpoint } = emulator;
    this.leasehold = createLeasehold({ table, queue: QUEUE, shards: SHARDS, endpoint, clientConfig });
    this.#documents = DynamoDBDocumentClient.from(new DynamoDBClient({ endpoint, ...clientConfig }));
  }

  /** One after the other, because the emulator serves one request at a time and the last of many would time out. An id is the identity. */
  async enqueue(keys: readonly TaskKey[], gate?: string): Promise<void> {
    const input = defined({ gate });
    for (const { queue, id } of keys) await answered(() => this.leasehold.tasks.enqueue(record, input, { queue, id }));
  }

  async tasks(keys: readonly TaskKey[]): Promise<TaskRecord[]> {
    const atOnce = sideBySide(READS_AT_ONCE);
    const records = await Promise.all(keys.map(({ id, queue }) => atOnce(() => this.leasehold.tasks.get(id, queue))));
    return records.filter((one) => one !== undefined);
  }

  async openGate(gate: string): Promise<void> {
    await this.#documents.send(new PutCommand({ TableName: EFFECTS_TABLE, Item: { id: gateKey(gate) } }));
  }

  async effects(): Promise<ReadonlyMap<string, Effect>> {
    const effects = (await this.#trail()).filter((row) => 'times' in row) as Effect[];
    return new Map(effects.map((effect) => [effect.id, effect]));
  }

  /** Returns the workers of running tasks. */
  async begun(keys: readonly TaskKey[]): Promise<ReadonlyMap<string, Begun>> {
    const running = (await this.tasks(keys)).filter(({ state }) => state === 'running');
    const trail = new Map((await this.#trail()).map((row) => [row.id, row]));
    const pairs = running.flatMap(({ id, attempts }): [string, Begun][] => {
      const row = trail.get(begunKey(id)) as Begun | undefined;
      return row?.attempt === attempts ? [[id, row]] : [];
    });
    return new Map(pairs);
  }

  async #trail(): Promise<{ readonly id: string }[]> {
    const found = await this.#documents.send(new ScanCommand({ TableName: EFFECTS_TABLE, ConsistentRead: true }));
    return (found.Items ?? []) as { readonly id: string }[];
  }

  async readRow(key: { readonly pk: string; readonly sk: string }): Promise<Record<string, unknown> | undefined> {
    const { Item } = await this.#documents.send(
      new GetCommand({ TableName: this.#table, Key: { ...key }, ConsistentRead: true }),
    );
    return Item;
  }

  async writeRow(item: Record<string, unknown>): Promise<void> {
    await this.#documents.send(new PutCommand({ TableName: this.#table, Item: item }));
  }

  /** Like an operator's `aws scheduler update-schedule --state ENABLED`. */
  async enableSchedules(): Promise<void> {
    const { Schedules } = (await this.#emulator.rest('scheduler', 'GET', '/schedules')) as {
      Schedules: { Name: string; GroupName: string }[];
    };
    for (const { Name, GroupName } of Schedules) {
      const query = `?groupName=${encodeURIComponent(GroupName)}`;
      const schedule = await this.#emulator.rest('scheduler', 'GET', `/schedules/${Name}${query}`);
      await this.#emulator.rest('scheduler', 'PUT', `/schedules/${Name}`, { ...schedule, State: 'ENABLED' });
    }
  }

  /** All that the deployed functions have logged as JSON. */
  async logs(): Promise<Record<string, unknown>[]> {
    const { logGroups = [] } = (await this.#emulator.call('logs', 'Logs_20140328.DescribeLogGroups', {})) as {
      logGroups?: { logGroupName: string }[];
    };
    const pages = logGroups.map(async ({ logGroupName }) => {
      const page = await this.#emulator.call('logs', 'Logs_20140328.FilterLogEvents', { logGroupName, limit: 10_000 });
      return (page.events ?? []) as { message: string }[];
    });
    return (await Promise.all(pages)).flat().flatMap(({ message }) => parseLine(message));
  }

  /** How much of a metric was reported so far, by the lines that CloudWatch would make metrics of. */
  async reported(metric: string): Promise<number> {
    return (await this.logs()).reduce((sum, line) => sum + (typeof line[metric] === 'number' ? line[metric] : 0), 0);
  }

  [Symbol.dispose](): void {
    this.leasehold[Symbol.dispose]();
    this.#documents.destroy();
  }
}

/** Asks again for as long as the emulator, on a busy machine, does not answer in time. */
export async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || attempt === MOST_ASKED) throw error;
      console.log(`asking again: ${error.message}`);
    }
  }
}

/** Polls once a second, also while nothing answers. @throws Error naming what was last seen, if it takes too long */
export async function until<T>(
  what: string,
  look: () => Promise<T>,
  isReached: (seen: T) => boolean,
  withinMs: number,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = await look().catch((error: unknown) => {
      if (error instanceof StoreUnavailableError) return error;
      throw error;
    });
    if (!(seen instanceof StoreUnavailableError) && isReached(seen)) return seen;
    if (performance.now() > deadline) {
      throw new Error(`after ${withinMs / 1000} s still not: ${what}; last seen: ${describe(seen)}`);
    }
    await wait(1_000);
  }
}

function describe(seen: unknown): string {
  if (seen instanceof Error) return seen.message;
  return JSON.stringify(seen instanceof Map ? [...seen] : seen).slice(0, 500);
}

function parseLine(message: string): Record<string, unknown>[] {
  if (!message.startsWith('{')) return []; // START, END, REPORT
  try {
    return [JSON.parse(message) as Record<string, unknown>];
  } catch {
    return []; // cut by the emulator's limit
  }
}
