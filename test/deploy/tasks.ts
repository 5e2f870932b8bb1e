/** The tasks of the deployment test: each writes to a separate table, in one transaction with its completion. */
import { setTimeout as wait } from 'node:timers/promises';
import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { DynamoDBDocumentClient, DeleteCommand, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { queueKey, taskKey } from '../../shared/dynamo/engine/keys.ts';
import type { Committed, TaskContext } from '../../shared/tasks/task/context.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import { messageOf } from '../../shared/core/errors.ts';
import { begunKey, EFFECTS_TABLE, gateKey } from './settings.ts';

/** Which deployment this code came with; the bundler puts it here. */
declare const REVISION: string;
const revision = typeof REVISION === 'undefined' ? 'not deployed' : REVISION;
/** Not one of Lambda's. */
const isOurs = process.env.AWS_LAMBDA_FUNCTION_NAME === undefined;
const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));

/** How often a task checks whether its gate is open. */
const LOOK_MS = 1_000;

/** Does its work at once, or waits at a gate that the test opens: then it says first who runs it. */
export const record = defineTask({
  name: 'record',
  input: z.object({ gate: z.string().optional() }),
  async run({ gate }, task) {
    if (gate !== undefined) await waitAt(gate, task);
    return leaveTrace(task);
  },
});

async function waitAt(gate: string, { id, attempt, signal }: TaskContext): Promise<void> {
  await documents.send(
    new UpdateCommand({
      TableName: EFFECTS_TABLE,
      Key: { id: begunKey(id) },
      UpdateExpression: 'SET #revision = :revision, #attempt = :attempt, #process = :process, #isOurs = :isOurs',
      ExpressionAttributeNames: {
        '#revision': 'revision',
        '#attempt': 'attempt',
        '#process': 'process',
        '#isOurs': 'isOurs',
      },
      ExpressionAttributeValues: {
        ':revision': revision,
        ':attempt': attempt,
        ':process': process.pid,
        ':isOurs': isOurs,
      },
    }),
  );
  const look = new GetCommand({ TableName: EFFECTS_TABLE, Key: { id: gateKey(gate) }, ConsistentRead: true });
  while ((await documents.send(look)).Item === undefined) await wait(LOOK_MS, undefined, { signal });
}

export const nothing = defineTask({ name: 'nothing', run: () => undefined });

/** Takes its whole worker down, the first time. */
export const crash = defineTask({
  name: 'crash',
  async run(_input, task) {
    if (task.attempt === 1) process.exit(1);
    return leaveTrace(task);
  },
});

/** Forbidden actions, tried from inside a worker. */
export const probe = defineTask({
  name: 'probe',
  input: z.object({ table: z.string(), dispatcher: z.string() }),
  async run({ table, dispatcher }, task) {
    const own = taskKey(task.queue, task.id);
    const foreign = taskKey('another-queue', '1');
    const attempts = {
      'scan the table': () => documents.send(new ScanCommand({ TableName: table })),
      'delete its own task': () => documents.send(new DeleteCommand({ TableName: table, Key: own })),
      'open the queue': () => documents.send(new PutCommand({ TableName: table, Item: queueKey(task.queue) })),
      'put a task into another queue': () => documents.send(new PutCommand({ TableName: table, Item: foreign })),
      'read a task of another queue': () => documents.send(new GetCommand({ TableName: table, Key: foreign })),
      'invoke the dispatcher': () =>
        new LambdaClient({}).send(new InvokeCommand({ FunctionName: dispatcher, InvocationType: 'DryRun' })),
    };
    const outcomes: Record<string, string> = {};
    for (const [what, attempt] of Object.entries(attempts)) outcomes[what] = await nameOfError(attempt);
    return { outcomes, remainingMs: task.remainingMs() };
  },
});

function leaveTrace(task: TaskContext): Promise<Committed> {
  return task.commit({ revision }, [
    {
      Update: {
        TableName: EFFECTS_TABLE,
        Key: { id: task.id },
        UpdateExpression: 'SET #revision = :revision, #attempt = :attempt ADD #times :one',
        ExpressionAttributeNames: { '#revision': 'revision', '#attempt': 'attempt', '#times': 'times' },
        ExpressionAttributeValues: { ':revision': revision, ':attempt': task.attempt, ':one': 1 },
      },
    },
  ]);
}

async function nameOfError(attempt: () => Promise<unknown>): Promise<string> {
  try {
    await attempt();
    return 'allowed';
  } catch (error) {
    return error instanceof Error ? error.name : messageOf(error);
  }
}
