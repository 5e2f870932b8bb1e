/** Workers with a task whose row was damaged by hand: how it ends, and whether others notice. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';
import { sessionKey, taskKey } from '../../shared/dynamo/engine/keys.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import type { WorkerReport } from '../../shared/tasks/worker/run-worker.ts';
import type { Poison } from './poison.ts';
import { damaged } from './poison.ts';
import type { World } from './world.ts';
import { openWorld } from './world.ts';
import { SCHEMA_VERSION } from '../../shared/dynamo/engine/schema.ts';

const MAX_ATTEMPTS = 3;
const NEIGHBOURS = ['a', 'b', 'c'];
/** More than a task's maximum number of attempts, each by a separate worker. */
const ROUNDS = MAX_ATTEMPTS + 2;
const GHOST = 'ghost';
const PATIENCE_MS = 300_000;
/** DynamoDB's limit is 400 KB for names and values. */
const FULL_BYTES = 409_000;

const fine = defineTask({
  name: 'fine',
  retry: { maxAttempts: MAX_ATTEMPTS, backoff: 1, backoffCap: 1 },
  run: (input: unknown) => ({ input: typeof input }),
});

/** Describes a problem of its end; undefined if there is none. */
export async function complaintAbout(found: Poison): Promise<string | undefined> {
  const outcome = await Promise.race([
    workBeside(found).catch((error: unknown) => `threw ${String(error).slice(0, 200)}`),
    sleep(PATIENCE_MS, 'the worker did not come to an end', { ref: false }),
  ]);
  // Two damages may be more than DynamoDB itself would store.
  if (outcome === 'not storable') return undefined;
  if (typeof outcome === 'string') return outcome;
  const { neighbours, before, after, reports } = outcome;
  const ended = reports.find((report) => report.ended !== 'drained')?.ended;
  if (ended !== undefined) return `a worker ended as ${ended}`;
  const hurt = neighbours.find(({ state, attempts }) => state !== 'done' || attempts !== 1);
  if (hurt !== undefined) return `a neighbour is ${hurt.state} after ${hurt.attempts} attempts`;
  if (isDeepStrictEqual(after, before)) return undefined;
  // A task of an unknown name has the default number of attempts, and waits between them.
  // The follower of an attempt under such a name, which no worker has claimed yet, also waits.
  const isFollowed = after.generation !== before.generation;
  const isOfUnknown = after.name !== fine.name && (after.lastError !== undefined || isFollowed);
  // A follower may also be due in another century.
  const waits = after.state === 'ready' && (isOfUnknown || Number(after.readyAt) > systemRuntime.clock.now());
  // A row may have enough space for a claim but not for its end: then it stays with an expired session until an operator repairs it.
  const isFull = after.state === 'running' && JSON.stringify(after).length > FULL_BYTES;
  if (!waits && !isFull && !['done', 'dead', 'cancelled'].includes(String(after.state)))
    return `it is left ${String(after.state)}`;
  const claims = Number(after.attempts) - Number(before.attempts);
  return claims <= MAX_ATTEMPTS ? undefined : `it was claimed ${claims} times`;
}

export function describePoison(found: Poison): string {
  return JSON.stringify(found, (_, value: unknown) =>
    typeof value === 'string' && value.length > 100 ? `${value.slice(0, 100)}… of ${value.length}` : value,
  );
}

export async function workBeside({ standing, damages }: Poison) {
  const world = openWorld();
  const queue = 'q';
  for (const id of NEIGHBOURS) await world.leasehold.tasks.enqueue(fine, { id }, { queue, id });
  await world.leasehold.tasks.enqueue(fine, { id: 'victim' }, { queue, id: 'victim' });
  try {
    await damage(world, queue, { standing, damages });
  } catch (error) {
    if (error instanceof DynamoFault) return 'not storable';
    throw error;
  }
  const key = taskKey(queue, 'victim');
  const before = await rowOf(world, key);
  const reports: WorkerReport[] = [];
  let after = before;
  for (let round = 0; round < ROUNDS; round++) {
    const last = after;
    reports.push(await world.work(queue, { fine }));
    after = await rowOf(world, key);
    if (isDeepStrictEqual(after, last)) break;
  }
  const neighbours = await Promise.all(
    NEIGHBOURS.map(async (id) => {
      const task = await world.leasehold.tasks.get(id, queue);
      return { state: task?.state, attempts: task?.attempts };
    }),
  );
  return { neighbours, before, after, reports };
}

async function damage(world: World, queue: string, { standing, damages }: Poison): Promise<void> {
  const key = taskKey(queue, 'victim');
  const ready = await rowOf(world, key);
  if (standing === 'ready') {
    await world.raw.put(damaged(ready, damages));
    return;
  }
  const running = { ...ready, state: 'running', session: GHOST, claimedAt: 1, attempts: 1, sequence: 0 };
  if (standing === 'abandoned') {
    await world.raw.put(damaged(running, damages));
    return;
  }
  await world.raw.put(running);
  const session = {
    ...sessionKey(GHOST),
    v: SCHEMA_VERSION,
    id: GHOST,
    name: 'worker',
    node: 'gone',
    ttlMs: 30_000,
    lockDelayMs: 0,
    behaviour: 'release',
    status: 'live',
    createdAt: 1,
    expiresAt: 30_001,
    renewals: 0,
    nonce: 'n',
  };
  await world.raw.put(damaged(session, damages));
}

async function rowOf(world: World, { pk, sk }: { readonly pk: string; readonly sk: string }): Promise<DynamoItem> {
  const row = await world.raw.get(pk, sk);
  if (row === undefined) throw new Error('rows do not vanish');
  return row;
}
