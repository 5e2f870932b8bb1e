/** The SDK's own form of operations: its requests become entries of the journal, and entries become its operations. */
import type { OperationUpdate, WireOperation } from '@aws/durable-execution-sdk-js';
import { assertNever } from '../../core/errors.ts';
import type { TaskKey } from '../task/task.ts';
import { callbackIdOf } from './callback-id.ts';
import type { Entry } from './entry.ts';
import type { OperationState } from './operations.ts';

const ACTION_OF = { START: 'start', SUCCEED: 'succeed', FAIL: 'fail', RETRY: 'retry', CANCEL: 'cancel' } as const;

/** @param unique makes the key of an operation that waits for something from outside */
export function entryOf(
  update: OperationUpdate,
  t: number,
  unique: { readonly secret: () => string; readonly child: () => string },
): Entry {
  const { Id, Type, Action, ParentId, Name, SubType, Payload, Error: error, CallbackOptions } = update;
  const a = ACTION_OF[Action ?? 'START'];
  const y = Type ?? 'STEP';
  const d = secondsOf(update);
  const h = CallbackOptions?.HeartbeatTimeoutSeconds;
  const isInvoke = y === 'CHAINED_INVOKE';
  // The differing parts come first, because that deflates better.
  return {
    ...(Id === undefined ? {} : { i: Id }),
    ...(Name === undefined ? {} : { n: Name }),
    // The payload of an invoke is the input of its task.
    ...(Payload === undefined || isInvoke ? {} : { r: Payload }),
    ...(ParentId === undefined ? {} : { p: ParentId }),
    a,
    y,
    ...(SubType === undefined ? {} : { s: SubType }),
    ...(error === undefined ? {} : { e: error }),
    ...(d === undefined || d === 0 ? {} : { d }),
    ...(h === undefined || h === 0 ? {} : { h }),
    ...(update.ContextOptions?.ReplayChildren === true ? { x: true as const } : {}),
    ...(isInvoke && a === 'start' ? { c: unique.child() } : {}),
    ...(y === 'CALLBACK' && a === 'start' ? { c: unique.secret() } : {}),
    t,
  };
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
    ...(parent === undefined ? {} : { ParentId: parent }),
    ...(name === undefined ? {} : { Name: name }),
    ...(subType === undefined ? {} : { SubType: subType }),
    ...(endedAt === undefined ? {} : { EndTimestamp: new Date(endedAt) }),
    ...detailsOf(task, state),
  };
}

function detailsOf(task: TaskKey, state: OperationState): Partial<WireOperation> {
  const { type, result, error, dueAt, attempt, openKey, replaysChildren } = state;
  const outcome = {
    ...(result === undefined ? {} : { Result: result }),
    ...(error === undefined ? {} : { Error: error }),
  };
  const at = dueAt === undefined ? undefined : new Date(dueAt);
  switch (type) {
    case 'STEP':
      return {
        StepDetails: { ...outcome, Attempt: attempt, ...(at === undefined ? {} : { NextAttemptTimestamp: at }) },
      };
    case 'WAIT':
      return { WaitDetails: { ScheduledEndTimestamp: at } };
    case 'CALLBACK':
      return {
        CallbackDetails: { ...outcome, CallbackId: openKey === undefined ? undefined : callbackIdOf(task, openKey) },
      };
    case 'CHAINED_INVOKE':
      return { ChainedInvokeDetails: outcome };
    case 'CONTEXT':
      return { ContextDetails: { ...outcome, ...(replaysChildren === true ? { ReplayChildren: true } : {}) } };
    case 'EXECUTION':
      return {};
    default:
      return assertNever(type, 'type of an operation');
  }
}
