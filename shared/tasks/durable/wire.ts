/** The SDK's own form of operations: its requests become entries of the journal, and entries become its operations. */
import type { OperationUpdate, WireOperation } from '@aws/durable-execution-sdk-js';
import { defined } from '../../core/defined.ts';
import { assertNever } from '../../core/errors.ts';
import type { TaskKey } from '../task/task.ts';
import { callbackIdOf } from './callback-id.ts';
import type { Entry } from './entry.ts';
import type { OperationState } from './operations.ts';

const ACTION_OF = { START: 'start', SUCCEED: 'succeed', FAIL: 'fail', RETRY: 'retry', CANCEL: 'cancel' } as const;

/** @param unique makes the key of an operation that waits for something from outside */
export function entryOf(update: OperationUpdate, t: number, unique: string): Entry {
  const { Id, Type, Action, ParentId, Name, SubType, Payload, Error: error, CallbackOptions } = update;
  const a = ACTION_OF[Action ?? 'START'];
  const y = Type ?? 'STEP';
  // The differing parts come first, because that deflates better.
  return defined({
    i: Id,
    n: Name,
    // The payload of an invoke is the input of its task.
    r: y === 'CHAINED_INVOKE' ? undefined : Payload,
    p: ParentId,
    a,
    y,
    s: SubType,
    e: error,
    d: positive(secondsOf(update)),
    h: positive(CallbackOptions?.HeartbeatTimeoutSeconds),
    x: update.ContextOptions?.ReplayChildren === true ? (true as const) : undefined,
    c: a === 'start' && (y === 'CHAINED_INVOKE' || y === 'CALLBACK') ? unique : undefined,
    t,
  });
}

function positive(seconds: number | undefined): number | undefined {
  return seconds === 0 ? undefined : seconds;
}

function secondsOf({ Type, Action, WaitOptions, StepOptions, CallbackOptions }: OperationUpdate): number | undefined {
  if (Type === 'WAIT') return WaitOptions?.WaitSeconds;
  return Action === 'RETRY' ? StepOptions?.NextAttemptDelaySeconds : CallbackOptions?.TimeoutSeconds;
}

export function wireOf(task: TaskKey, state: OperationState): WireOperation {
  const { id, type, parent, name, subType, status, startedAt, endedAt } = state;
  return {
    Id: id,
    Type: type,
    Status: status,
    StartTimestamp: new Date(startedAt),
    ...(endedAt === undefined ? {} : { EndTimestamp: new Date(endedAt) }),
    ...defined({ ParentId: parent, Name: name, SubType: subType }),
    ...detailsOf(task, state),
  };
}

function detailsOf(task: TaskKey, state: OperationState): Partial<WireOperation> {
  const { type, result, error, dueAt, attempt, openKey, replaysChildren } = state;
  const outcome = defined({ Result: result, Error: error });
  const at = dueAt === undefined ? undefined : new Date(dueAt);
  switch (type) {
    case 'STEP':
      return { StepDetails: defined({ ...outcome, Attempt: attempt, NextAttemptTimestamp: at }) };
    case 'WAIT':
      return { WaitDetails: { ScheduledEndTimestamp: at } };
    case 'CALLBACK':
      return { CallbackDetails: { ...outcome, CallbackId: openKey && callbackIdOf(task, openKey) } };
    case 'CHAINED_INVOKE':
      return { ChainedInvokeDetails: outcome };
    case 'CONTEXT':
      return { ContextDetails: defined({ ...outcome, ReplayChildren: replaysChildren }) };
    case 'EXECUTION':
      return {};
    default:
      return assertNever(type, 'type of an operation');
  }
}
