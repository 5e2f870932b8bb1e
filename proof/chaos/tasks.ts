/**
 * The tasks of the chaos run, in two arms that meet the same faults.
 *
 * `fenced` has its effect through `task.commit`. `naive` is the positive control:
 * the same effect by a plain write, as commonly written;
 * it even checks its signal first. Both write to the journal, which is not fenced.
 */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { setTimeout as sleep } from 'node:timers/promises';
import { ENV } from '../../functions/env.ts';
import type { TaskContext } from '../../shared/tasks/task/context.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import type { Arm } from './profile.ts';
import { LENGTHS_MS, TASK_NAMES } from './profile.ts';
import { openJournal, workerSettings } from './worker-settings.ts';

const { ledgerTable } = workerSettings();
const journal = openJournal();
// With the SDK's own retries, like naive code.
const documents = DynamoDBDocumentClient.from(new DynamoDBClient({ endpoint: process.env[ENV.endpoint] ?? '' }));
/** Far more than faults can use up: a task that dies here was lost. */
const retry = { maxAttempts: 1_000, backoff: '100ms', backoffCap: '1s' } as const;
const NAIVE_WRITE_TIMEOUT_MS = 3_000;

export const fenced = defineTask({
  name: TASK_NAMES.fenced,
  retry,
  async run(_input: unknown, task) {
    await work('fenced', task);
    const committed = await task.commit({ token: task.fencingToken }, [{ Update: ledgerEffect(task) }]);
    journal.write({ kind: 'committed', arm: 'fenced', task: task.id, token: task.fencingToken });
    return committed;
  },
});

export const naive = defineTask({
  name: TASK_NAMES.naive,
  retry,
  async run(_input: unknown, task) {
    await work('naive', task);
    task.signal.throwIfAborted();
    await documents.send(new UpdateCommand(ledgerEffect(task)), {
      abortSignal: AbortSignal.timeout(NAIVE_WRITE_TIMEOUT_MS),
    });
    journal.write({ kind: 'committed', arm: 'naive', task: task.id, token: task.fencingToken });
    return { token: task.fencingToken };
  },
});

/** Takes its time; every other task ignores its signal during that, like much real code. */
async function work(arm: Arm, task: TaskContext): Promise<void> {
  journal.write({ kind: 'began', arm, task: task.id, attempt: task.attempt, token: task.fencingToken });
  const { low, high } = LENGTHS_MS.task;
  const ms = low + Math.random() * (high - low);
  const isObedient = task.fencingToken % 2 === 0;
  await sleep(ms, undefined, isObedient ? { signal: task.signal } : {});
}

/** The count shows whether an effect took place twice, and the token whose effect it was. */
function ledgerEffect(task: TaskContext) {
  return {
    TableName: ledgerTable,
    Key: { id: task.id },
    UpdateExpression: 'SET #token = :token ADD #commits :one',
    ExpressionAttributeNames: { '#token': 'token', '#commits': 'commits' },
    ExpressionAttributeValues: { ':token': task.fencingToken, ':one': 1 },
  };
}
