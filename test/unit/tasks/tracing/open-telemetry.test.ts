/** Checks the assumptions of `shared/tasks/tracing/open-telemetry.ts` against the API itself. */
import type { ContextManager, TracerProvider } from '@opentelemetry/api';
import { ROOT_CONTEXT, context, createContextKey, trace } from '@opentelemetry/api';
import { expect, expectTypeOf, test } from 'vitest';
import type { Registered } from '../../../../shared/tasks/tracing/open-telemetry.ts';
import { openTelemetry } from '../../../../shared/tasks/tracing/open-telemetry.ts';
import { ATTEMPT_SPANS, TaskSpans } from '../../../../shared/tasks/tracing/task-spans.ts';
import type { RunningTask } from '../../../../shared/tasks/task/task.ts';
import { recordSpans } from '../../../support/spans.ts';

const GLOBAL = Symbol.for('opentelemetry.js.api.1');

test("finds the API's registration, and reads a context's span under the API's own key", () => {
  using _recorded = recordSpans();
  const registered = (globalThis as unknown as Record<symbol, Registered | undefined>)[GLOBAL];

  expect(registered?.trace).toBeDefined();
  expect(registered?.context).toBeDefined();
  const span = trace.getTracer('any').startSpan('any');
  expect(trace.setSpan(ROOT_CONTEXT, span).getValue(createContextKey('OpenTelemetry Context Key SPAN'))).toBe(span);
  expect(trace.setSpan(ROOT_CONTEXT, span).getValue(Symbol.for('OpenTelemetry Context Key SPAN'))).toBe(span);
});

test('has the assumed types', () => {
  expectTypeOf<TracerProvider>().toExtend<NonNullable<Registered['trace']>>();
  expectTypeOf<ContextManager['active']>().toExtend<NonNullable<Registered['context']>['active']>();
});

test('starts nothing and drafts nothing without a registered provider', () => {
  expect(
    openTelemetry.begin(() => {
      throw new Error('a draft was made');
    }),
  ).toBeUndefined();
});

test('finds a provider that is registered later', () => {
  expect(openTelemetry.begin(draft)).toBeUndefined();
  using recorded = recordSpans();

  openTelemetry.begin(draft)?.end({ at: 2_000 });

  expect(recorded.take().map(({ name }) => name)).toEqual(['any']);
});

test('makes a span active during its code only', async () => {
  using _recorded = recordSpans();
  const span = openTelemetry.begin(draft);

  await span?.within(async () => {
    await Promise.resolve();
    expect(trace.getSpan(context.active())?.spanContext().spanId).toBe(span.traceparent?.split('-')[2]);
  });
  expect(trace.getSpan(context.active())).toBeUndefined();
});

test.each(ATTEMPT_SPANS)('puts an attempt under its row’s context, or links it, by the setting %s', (how) => {
  using recorded = recordSpans();
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const task = { queue: 'q', id: 'a', name: 'n', attempts: 1, leaseCounter: 7, session: 's', past: [] };
  const row = { ...task, claimedAt: 2_000, readyAt: 1_000, traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
  const spans = new TaskSpans(openTelemetry, how);

  spans.endAttempt(spans.attempt(row as unknown as RunningTask, { takenOver: false }), {
    at: 3_000,
    settlement: 'done',
  });

  const attempt = recorded.take().find(({ name }) => name === 'process q');
  const isUnder = attempt?.spanContext().traceId === traceId;
  expect(isUnder).toBe(how === 'parent');
  expect(attempt?.links.map(({ context: linked }) => linked.traceId)).toEqual(isUnder ? [] : [traceId]);
});

function draft() {
  return { name: 'any', kind: 'internal', startAt: 1_000, attributes: {} } as const;
}
