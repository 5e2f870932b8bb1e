/** Tasks in waves, some of which end their worker: each must have taken effect once. */
import { setTimeout as wait } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { Measured } from '../../bench/evidence.ts';
import type { Leasehold } from '../../shared/client/leasehold.ts';
import { StoreUnavailableError } from '../../shared/core/errors.ts';
import { sideBySide } from '../../shared/core/runtime/in-flight.ts';
import type { Sizes } from './plan.ts';
import type { Kill } from './settings.ts';
import { KILLS, QUEUE } from './settings.ts';
import { record } from './tasks.ts';

const POLL_MS = 2_000;
const MOST_ASKED = 20;

interface WavePorts {
  readonly leasehold: Leasehold;
  readonly client: DynamoDBClient;
  readonly effects: string;
}

interface EffectOfTask {
  readonly id: string;
  readonly times?: number;
  readonly attempt?: number;
}

export async function runWaves(
  { leasehold, client, effects }: WavePorts,
  sizes: Sizes,
  signal: AbortSignal,
): Promise<Measured<'tasks'>> {
  const documents = DynamoDBDocumentClient.from(client);
  const atOnce = sideBySide(sizes.inFlight);
  const ids: string[] = [];
  const killed: Record<string, number> = {};
  const waves: { tasks: number; seconds: number }[] = [];
  for (let wave = 0; wave < sizes.waves; wave++) {
    const size = Math.floor(sizes.tasks / sizes.waves) + (wave < sizes.tasks % sizes.waves ? 1 : 0);
    const begun = performance.now();
    const all = Array.from({ length: size }, (_, n) => ({ id: `wave-${wave}-${n}`, kill: killOf(n, sizes) }));
    await Promise.all(
      all.map(({ id, kill }) =>
        atOnce(async () => {
          signal.throwIfAborted();
          await answered(() =>
            leasehold.tasks.enqueue(record, kill === undefined ? {} : { kill }, { id, queue: QUEUE }),
          );
        }),
      ),
    );
    for (const { kill } of all) if (kill !== undefined) killed[kill] = (killed[kill] ?? 0) + 1;
    ids.push(...all.map(({ id }) => id));
    while ((await effectsOf(documents, effects)).size < ids.length) await wait(POLL_MS, undefined, { signal });
    waves.push({ tasks: size, seconds: Math.round((performance.now() - begun) / 100) / 10 });
  }
  const found = await effectsOf(documents, effects);
  const attempts: Record<string, number> = {};
  for (const { attempt = 0 } of found.values()) attempts[attempt] = (attempts[attempt] ?? 0) + 1;
  const times = ids.map((id) => found.get(id)?.times ?? 0);
  const having = (is: (times: number) => boolean): number => times.filter(is).length;
  return {
    tasks: ids.length,
    waves,
    killed,
    attempts,
    once: having((one) => one === 1),
    twice: having((one) => one > 1),
    lost: having((one) => one === 0),
  };
}

/** Asks again while the store does not answer in time: the id makes a task one. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || attempt === MOST_ASKED) throw error;
    }
  }
}

function killOf(n: number, { killedOneIn }: Sizes): Kill | undefined {
  // Different remainders, because a task can end its worker in one way only.
  return KILLS.find((kill, at) => killedOneIn[kill] !== undefined && n % killedOneIn[kill] === at);
}

async function effectsOf(documents: DynamoDBDocumentClient, table: string): Promise<ReadonlyMap<string, EffectOfTask>> {
  const rows: EffectOfTask[] = [];
  let from: Record<string, unknown> | undefined;
  do {
    const page = await documents.send(
      new ScanCommand({ TableName: table, ConsistentRead: true, ExclusiveStartKey: from }),
    );
    rows.push(...((page.Items ?? []) as EffectOfTask[]));
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
  return new Map(rows.filter(({ times }) => times !== undefined).map((row) => [row.id, row]));
}
