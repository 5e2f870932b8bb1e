/**
 * Holders of locks, after Jepsen's locked set: each lock guards a register that holds a list;
 * a holder reads it, adds an element, and writes it back.
 *
 * The `fenced` registers are read and written through `dynamoFence`.
 * The `naive` ones are the positive control: the same lock, a plain read and a plain
 * write, with a look at the lock's signal before the write. An element whose write was acknowledged must be in the list at the end.
 */
import { ConditionalCheckFailedException, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Context } from 'aws-lambda';
import { setTimeout as sleep } from 'node:timers/promises';
import { ENV } from '../../functions/env.ts';
import type { DynamoFence } from '../../shared/dynamo/dynamo-fence.ts';
import { dynamoFence } from '../../shared/dynamo/dynamo-fence.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import type { Lock } from '../../shared/coordination/lock/lock.ts';
import type { Session } from '../../shared/client/session.ts';
import { machineMs } from './journal.ts';
import type { Arm } from './profile.ts';
import { LENGTHS_MS, PROTOCOL, REGISTERS } from './profile.ts';
import { environmentId, openJournal, workerSettings } from './worker-settings.ts';

const { registerTable } = workerSettings();
const journal = openJournal();
const endpoint = process.env[ENV.endpoint] ?? '';
const leasehold = createLeasehold({
  table: process.env[ENV.table] ?? '',
  endpoint,
  maxClockSkew: PROTOCOL.maxClockSkewMs,
});
const single = DynamoDBDocumentClient.from(new DynamoDBClient({ endpoint, maxAttempts: 1 }));
const retrying = DynamoDBDocumentClient.from(new DynamoDBClient({ endpoint }));

/** A session serves so many turns, so that sessions begin and end in an orderly way too. */
const TURNS_PER_SESSION = 12;
const END_BEFORE_DEADLINE_MS = 2_500;
const ATTEMPT_TIMEOUT_MS = 800;
const NAIVE_TIMEOUT_MS = 3_000;
let elements = 0;

type Register = (typeof REGISTERS)[number];

export async function handler(_event: unknown, context: Context): Promise<void> {
  const until = machineMs() + context.getRemainingTimeInMillis() - END_BEFORE_DEADLINE_MS;
  while (machineMs() < until) {
    try {
      await using session = await leasehold.session({
        ttl: PROTOCOL.sessionTtlMs,
        lockDelay: PROTOCOL.lockDelayMs,
        name: 'register',
      });
      for (let turn = 0; turn < TURNS_PER_SESSION && machineMs() < until; turn++) await takeTurn(session);
    } catch (error) {
      tell(error, 'fenced');
      await sleep(100);
    }
  }
}

async function takeTurn(session: Session): Promise<void> {
  const register = REGISTERS[Math.floor(Math.random() * REGISTERS.length)]!;
  const { arm, key } = register;
  const askedAt = machineMs();
  const lock = await session.lock(key, { wait: '2s', pause: '300ms' });
  try {
    journal.write({ kind: 'granted', arm, key, token: lock.fencingToken, session: session.id, askedAt });
    if (arm === 'fenced') await addFenced(lock, register);
    else await addNaively(lock, register).catch((error: unknown) => tell(error, arm));
  } finally {
    await lock.release();
  }
}

async function addFenced(lock: Lock, { arm, key }: Register): Promise<void> {
  const fence = dynamoFence(lock);
  const target = { TableName: registerTable, Key: { key } };
  const before = await sendFenced(fence, fence.advance(target), lock);
  await hold(lock, arm);
  const element = nextElement();
  const list = [...((before.list ?? []) as string[]), element];
  await sendFenced(
    fence,
    fence.update({
      ...target,
      UpdateExpression: 'SET #list = :list',
      ExpressionAttributeNames: { '#list': 'list' },
      ExpressionAttributeValues: { ':list': list },
    }),
    lock,
  );
  journal.write({ kind: 'acknowledged', arm, key, element });
}

/** Repeats a fenced write until it is decided, or the lock is lost. */
async function sendFenced(fence: DynamoFence, input: UpdateCommandInput, lock: Lock): Promise<Record<string, unknown>> {
  for (;;) {
    lock.signal.throwIfAborted();
    try {
      const abortSignal = AbortSignal.timeout(ATTEMPT_TIMEOUT_MS);
      const { Attributes } = await single.send(new UpdateCommand(input), { abortSignal });
      return Attributes ?? {};
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) {
        const item = error.Item === undefined ? undefined : unmarshall(error.Item);
        if (item !== undefined && fence.wasApplied(input, item)) return item;
        throw new FenceRefusedError(`a later holder of ${lock.key} has written`, { cause: error });
      }
      // Not decided: the same stamp is sent again.
      await sleep(Math.random() * 100);
    }
  }
}

/** A guarded store's refusal of a superseded holder: the fence at work. */
class FenceRefusedError extends Error {
  override readonly name = 'FenceRefusedError';
}

async function addNaively(lock: Lock, { arm, key }: Register): Promise<void> {
  const abortSignal = AbortSignal.timeout(NAIVE_TIMEOUT_MS);
  const { Item } = await retrying.send(
    new GetCommand({ TableName: registerTable, Key: { key }, ConsistentRead: true }),
    {
      abortSignal,
    },
  );
  await hold(lock, arm);
  const element = nextElement();
  const list = [...((Item?.list ?? []) as string[]), element];
  lock.ensureTrusted();
  await retrying.send(new PutCommand({ TableName: registerTable, Item: { key, list } }), {
    abortSignal: AbortSignal.timeout(NAIVE_TIMEOUT_MS),
  });
  journal.write({ kind: 'acknowledged', arm, key, element });
}

/** The time between reading and writing, in which the holder notes that it still believes. */
async function hold(lock: Lock, arm: Arm): Promise<void> {
  const { low, high } = LENGTHS_MS.hold;
  for (let part = 0; part < 3; part++) {
    await sleep((low + Math.random() * (high - low)) / 3);
    const at = machineMs();
    if (!lock.signal.aborted) journal.write({ kind: 'believed', arm, key: lock.key, token: lock.fencingToken }, at);
  }
}

function nextElement(): string {
  return `${environmentId().replace(/^.*-/, '')}.${process.pid}.${++elements}`;
}

function tell(error: unknown, arm: Arm): void {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  journal.write({ kind: 'trouble', arm, error: name, message: message.slice(0, 300) });
}
