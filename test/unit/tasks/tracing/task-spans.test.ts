/** The spans of a task's life, as OpenTelemetry's own SDK exports them. */
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';
import type { RecordedSpans } from '../../../support/spans.ts';
import { epochMs, recordSpans, treesOf } from '../../../support/spans.ts';

const OUTSIDE = '00f067aa0ba902b7';
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACE = `00-${TRACE_ID}-${OUTSIDE}-01`;

const child = defineTask({ name: 'child', run: () => undefined });
const parent = defineTask({
  name: 'parent',
  run(_: unknown, task) {
    trace.getTracer('theirs').startSpan('their own').end();
    return task.commit(1, [], { spawn: [spawn(child, {}, { id: 'c' })] });
  },
});

const named = (spans: readonly ReadableSpan[], name: string) => spans.filter((span) => span.name === name);
const traces = (spans: readonly ReadableSpan[]) => new Set(spans.map((span) => span.spanContext().traceId));

describe('with a provider that is registered', () => {
  let recorded: RecordedSpans;
  beforeEach(() => {
    recorded = recordSpans();
  });
  afterEach(() => {
    recorded[Symbol.dispose]();
  });

  test('links enqueue, attempt, commit and children in one trace', async () => {
    const kit = createTestKit({ tasks: { child, parent } });
    await kit.tasks.enqueue(parent, {}, { id: 'p' });
    await kit.drain();

    const spans = recorded.take();
    expect(traces(spans).size).toBe(1);
    expect(treesOf(spans)).toEqual([
      {
        name: 'send default',
        under: [
          { name: 'wait default', under: [] },
          {
            name: 'process default',
            under: [
              {
                name: 'create default',
                under: [
                  { name: 'wait default', under: [] },
                  { name: 'process default', under: [{ name: 'complete default', under: [] }] },
                ],
              },
              { name: 'commit default', under: [] },
              // It has the machine's time, and the kit's is behind.
              { name: 'their own', under: [] },
            ],
          },
        ],
      },
    ]);
  });

  test('records the attempt of a killed worker, with its times, in the next worker', async () => {
    const kit = createTestKit({ tasks: { child, parent } });
    await kit.tasks.enqueue(parent, {}, { id: 'p' });
    const survived = recorded.take();
    const claimedAt = kit.clock.now();
    await kit.crash('beforeSettle');
    // The killed process exports nothing: neither the attempt that did not end, nor what its exporter still held.
    recorded.take();
    await kit.advance('60s');
    await kit.drain();

    const spans = [...survived, ...recorded.take()];
    expect(traces(spans).size).toBe(1);
    const [root] = treesOf(spans);
    expect(root?.under.map(({ name }) => name)).toEqual(['process default', 'process default']);
    const task = await kit.tasks.get('p');
    const [dead, alive] = named(spans, 'process default').filter(
      (span) => span.attributes['messaging.message.id'] === 'p',
    );
    const [past] = task?.past ?? [];
    expect(dead).toMatchObject({
      kind: SpanKind.CONSUMER,
      status: { code: SpanStatusCode.ERROR },
      attributes: {
        'leasehold.attempt': 1,
        'leasehold.lease_counter': past?.leaseCounter,
        'leasehold.session': past?.session,
        'leasehold.settlement': 'died',
        'leasehold.takeover.written': true,
        'error.type': 'WorkerDied',
      },
    });
    expect(epochMs(dead?.startTime ?? [0, 0])).toBe(claimedAt);
    expect(epochMs(dead?.endTime ?? [0, 0])).toBe(past?.endedAt);
    expect(alive?.attributes).toMatchObject({
      'leasehold.attempt': 2,
      'leasehold.lease_counter': (past?.leaseCounter ?? 0) + 1,
      'leasehold.takeover': true,
      'leasehold.settlement': 'done',
    });
  });

  test('uses messaging attributes, and starts the wait when the task was due', async () => {
    const kit = createTestKit({ tasks: { child } });
    await kit.tasks.enqueue(child, {}, { id: 'late', delay: '5s' });
    const dueAt = kit.clock.now() + 5_000;
    await kit.advance('7s');
    await kit.drain();

    const spans = recorded.take();
    const [sent] = named(spans, 'send default');
    expect(sent).toMatchObject({
      kind: SpanKind.PRODUCER,
      attributes: {
        'messaging.system': 'leasehold',
        'messaging.operation.name': 'send',
        'messaging.operation.type': 'send',
        'messaging.destination.name': 'default',
        'messaging.message.id': 'late',
        'leasehold.task.name': 'child',
      },
    });
    const [wait] = named(spans, 'wait default');
    expect([wait?.startTime, wait?.endTime].map((time) => epochMs(time ?? [0, 0]))).toEqual([dueAt, dueAt + 2_000]);
    const [settled] = named(spans, 'complete default');
    expect(settled).toMatchObject({ kind: SpanKind.CLIENT, attributes: { 'messaging.operation.type': 'settle' } });
  });

  test('continues the caller’s trace, and links an active invocation', async () => {
    const kit = createTestKit({ tasks: { child } });
    await kit.tasks.enqueue(child, {}, { id: 'c', traceparent: TRACE });
    await trace.getTracer('lambda').startActiveSpan('invocation', async (invocation) => {
      await kit.drain();
      invocation.end();
    });

    const spans = recorded.take();
    const [invocation] = named(spans, 'invocation');
    const [attempt] = named(spans, 'process default');
    expect(named(spans, 'send default')[0]?.parentSpanContext?.spanId).toBe(OUTSIDE);
    expect(attempt?.spanContext().traceId).toBe(TRACE_ID);
    expect(attempt?.links.map(({ context }) => context.spanId)).toEqual([invocation?.spanContext().spanId]);
  });

  test('marks a refused enqueue as an error, and still throws it', async () => {
    const kit = createTestKit({ tasks: { child } });
    await kit.tasks.enqueue(child, { n: 1 }, { id: 'c' });

    await expect(kit.tasks.enqueue(child, { n: 2 }, { id: 'c' })).rejects.toThrow('exists already');
    expect(recorded.take().map(({ status, attributes }) => [status.code, attributes['error.type']])).toEqual([
      [SpanStatusCode.UNSET, undefined],
      [SpanStatusCode.ERROR, 'MismatchError'],
    ]);
  });

  test('gives replacing or renewed work under the same id its own trace', async () => {
    const kit = createTestKit({ tasks: { child } });
    const ask = async (n: number) => {
      await kit.tasks.enqueue(child, { n }, { id: 'c', onDuplicate: 'replace' });
      const [sent] = recorded.take();
      return sent?.spanContext().traceId;
    };
    const kept = async () => (await kit.tasks.get('c'))?.traceparent?.split('-')[1];
    const first = await ask(1);
    expect(await kept()).toBe(first);

    const replaced = await ask(2);
    expect(await kept()).toBe(replaced);
    await kit.drain();
    recorded.take();
    const renewed = await ask(3);
    expect(await kept()).toBe(renewed);
    expect(new Set([first, replaced, renewed]).size).toBe(3);

    recorded[Symbol.dispose]();
    await kit.tasks.enqueue(child, { n: 4 }, { id: 'c', onDuplicate: 'replace' });
    expect(await kept()).toBeUndefined();
  });
});

test('creates and stores nothing without a provider', async () => {
  const kit = createTestKit({ tasks: { child } });
  await kit.tasks.enqueue(child, {}, { id: 'c' });
  await kit.drain();

  expect(await kit.tasks.get('c')).toMatchObject({ state: 'done', traceparent: undefined });
});
