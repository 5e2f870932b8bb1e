/** The record of one invocation: events for watchers, and Lambda's own log lines around it. */
import type { EnvironmentEvent } from './events.ts';
import type { LocalFunction } from './function-settings.ts';
import type { InvocationResult } from './outcomes.ts';
import { timedOutText } from './outcomes.ts';

type Tell = (event: EnvironmentEvent) => void;

interface EndedInvocation {
  readonly requestId: string;
  readonly target: LocalFunction;
  readonly result: InvocationResult;
  /** Wall clock, milliseconds since 1970. */
  readonly endedAt: number;
  readonly durationMs: number;
  /** Only for the first invocation of an environment. */
  readonly initDurationMs: number | undefined;
  /** Unknown for an environment that died. */
  readonly maxMemoryUsedMb: number | undefined;
}

export function tellStart(tell: Tell, start: { readonly requestId: string; readonly coldStart: boolean }): void {
  const { requestId, coldStart } = start;
  tell({ type: 'invocationStarted', requestId, coldStart });
  tell({ type: 'log', stream: 'platform', line: `START RequestId: ${requestId} Version: $LATEST`, requestId });
}

/** @see https://docs.aws.amazon.com/lambda/latest/dg/nodejs-logging.html */
export function tellEnd(tell: Tell, ended: EndedInvocation): void {
  const { requestId, target, result, endedAt, durationMs, initDurationMs, maxMemoryUsedMb } = ended;
  const { outcome } = result;
  const timedOut = outcome === 'timeout';
  const report = [
    `REPORT RequestId: ${requestId}`,
    `Duration: ${durationMs.toFixed(2)} ms`,
    `Billed Duration: ${Math.ceil(durationMs + (initDurationMs ?? 0))} ms`,
    `Memory Size: ${target.memoryMb} MB`,
    ...(maxMemoryUsedMb === undefined ? [] : [`Max Memory Used: ${maxMemoryUsedMb} MB`]),
    ...(initDurationMs === undefined ? [] : [`Init Duration: ${initDurationMs.toFixed(2)} ms`]),
    ...(timedOut ? ['Status: timeout'] : []),
  ];
  const lines = [
    ...(timedOut ? [`${new Date(endedAt).toISOString()} ${requestId} ${timedOutText(target.timeoutMs)}`] : []),
    `END RequestId: ${requestId}`,
    report.join('\t'),
  ];
  for (const line of lines) tell({ type: 'log', stream: 'platform', line, requestId });
  const error = 'error' in result ? { error: result.error } : {};
  tell({ type: 'invocationEnded', requestId, outcome, durationMs, ...error });
}
