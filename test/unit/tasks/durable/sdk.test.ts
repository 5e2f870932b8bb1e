/** Assumptions about the SDK's internals: when it calls a plugin for a start. */
import type { DurableContext, DurableExecutionClient } from '@aws/durable-execution-sdk-js';
import * as sdk from '@aws/durable-execution-sdk-js';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Operations } from '../../../../shared/tasks/durable/operations.ts';
import { entryOf, wireOf } from '../../../../shared/tasks/durable/wire.ts';

const TASK = { queue: 'default', id: 'r' };

/** @returns for each step what was first, in order: its hook (`told`), or the request to record its start (`asked`) */
async function startsOf(code: (ctx: DurableContext) => Promise<unknown>): Promise<Readonly<Record<string, string[]>>> {
  const operations = new Operations();
  const seen: Record<string, string[]> = {};
  const see = (name: string | undefined, what: string): void => void (seen[name ?? ''] ??= []).push(what);
  const unique = 'unique';
  const client: DurableExecutionClient = {
    checkpoint: async ({ Updates = [] }) => {
      for (const update of Updates) {
        if (update.Type === 'STEP' && update.Action === 'START') see(update.Name, 'asked');
        operations.apply(entryOf(update, Date.now(), unique));
      }
      await pause(1);
      operations.tick(Date.now());
      return {
        CheckpointToken: 't',
        NewExecutionState: { Operations: operations.takeChanged().map((state) => wireOf(TASK, state)) },
      };
    },
    getExecutionState: async () => ({ Operations: [], NextMarker: undefined }),
  };
  const onOperationStart = async ({ name, type }: sdk.OperationInfo): Promise<void> => {
    if (type === 'STEP') see(name, 'told');
  };
  const handler = sdk.withDurableExecution((_, ctx) => code(ctx), {
    durableExecutionClient: client,
    plugins: [{ onOperationStart }],
  });
  const execution = {
    Id: 'e',
    Type: 'EXECUTION',
    Status: 'STARTED',
    ExecutionDetails: { InputPayload: 'null' },
  } as const;
  const event = { DurableExecutionArn: 'a', CheckpointToken: 't', InitialExecutionState: { Operations: [execution] } };
  const output = await handler(event as never, { getRemainingTimeInMillis: () => 60_000 } as never);
  expect(output.Status).toBe('SUCCEEDED');
  return seen;
}

/** Fails once, and is retried at once during the same invocation. */
function flaky() {
  let attempts = 0;
  return async () => {
    if (++attempts === 1) throw new Error('again');
    return attempts;
  };
}

const again = { retryStrategy: () => ({ shouldRetry: true, delay: { seconds: 1 } }) } as const;

test('the SDK tells of a start before it asks to record it, if it does not wait for the record; otherwise afterwards', async () => {
  const seen = await startsOf(async (ctx) => {
    const all = await ctx.parallel('both', [
      (branch) => branch.step('at least once', flaky(), again),
      (branch) => branch.step('at most once', flaky(), { ...again, semantics: sdk.StepSemantics.AtMostOncePerRetry }),
      (branch) => branch.step('long', async () => pause(2_500)),
    ]);
    all.throwIfError();
  });

  expect(seen['at least once']).toEqual(['told', 'asked', 'told', 'asked']);
  expect(seen['at most once']).toEqual(['asked', 'told', 'asked', 'told']);
});
