/** The end of a request in its span, the end of a span, and whose context a row takes. */
import { trace } from '@opentelemetry/api';
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace-base';
import { expect, test } from 'vitest';
import { defined } from '../../../../shared/core/defined.ts';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { openTelemetry } from '../../../../shared/tasks/tracing/open-telemetry.ts';
import { validAttemptSpans } from '../../../../shared/tasks/tracing/task-spans.ts';
import type { Span, Tracing } from '../../../../shared/tasks/tracing/tracing.ts';
import { sendWithin } from '../../../../shared/tasks/tracing/tracing.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';
import { recordSpans } from '../../../support/spans.ts';
import { shown } from '../../../support/story.ts';

/** Tells each draft and each end. Its spans have the names of their drafts. */
function telling(lines: string[]): Tracing {
  return {
    begin(draft) {
      const { name, parent, fallback, attributes, ...facts } = draft();
      const nameOf = (span: Span | string | undefined): string | undefined =>
        typeof span === 'string' ? span : span?.traceparent;
      const place = defined({ parent: nameOf(parent), fallback: nameOf(fallback) });
      lines.push(`  begins ${name} ${shown({ ...facts, ...place })}`, `    ${shown(attributes)}`);
      return {
        traceparent: `context of ${name}`,
        within: (code) => code(),
        end: (end) => void lines.push(`  ends ${name} ${shown(end)}`),
      };
    },
  };
}

test('the end of a request in its span', async () => {
  const clock = new FakeClock(new Date(5_000));
  const lines: string[] = [];
  const span = () => telling(lines).begin(() => ({ name: 'write', kind: 'client', startAt: 0, attributes: {} }));
  const gone = new StoreUnavailableError('writing', { applied: 'unknown' });

  expect(await sendWithin(undefined, clock, () => Promise.resolve(1))).toBe(1);
  expect(await sendWithin(span(), clock, () => Promise.resolve(2))).toBe(2);
  expect(
    await sendWithin(
      span(),
      clock,
      () => Promise.resolve(3),
      (answer) => answer !== 3,
    ),
  ).toBe(3);
  await expect(sendWithin(span(), clock, () => Promise.reject(gone))).rejects.toBe(gone);
  await expect(sendWithin(undefined, clock, () => Promise.reject(gone))).rejects.toBe(gone);
  await expect(sendWithin(span(), clock, () => Promise.reject(new TypeError('no response')))).rejects.toThrow(
    'no response',
  );
  expect(lines.filter((line) => line.startsWith('  ends'))).toEqual([
    '  ends write { at: 5000, error: undefined }',
    "  ends write { at: 5000, error: { type: 'refused', message: 'the claim is no longer the current one' } }",
    "  ends write { at: 5000, error: { type: 'StoreUnavailableError', message: 'writing' } }",
    "  ends write { at: 5000, error: { type: 'TypeError', message: 'no response' } }",
  ]);
});

test('checks the setting', () => {
  expect([validAttemptSpans(), validAttemptSpans('link')]).toEqual(['parent', 'link']);
  expect(() => validAttemptSpans('Link')).toThrow('attemptSpans = "Link": must be one of parent, link');
});

test('the end of a span: its attributes, its error, and never before its start', () => {
  using recorded = recordSpans();
  const ends = [{ at: 2_001 }, { at: 1 }, { at: 2_500, attributes: { a: 1 }, error: { type: 'T', message: 'm' } }];

  for (const end of ends)
    openTelemetry.begin(() => ({ name: 'it', kind: 'producer', startAt: 2_000, attributes: { b: 2 } }))?.end(end);

  expect(recorded.take()).toMatchObject([
    { attributes: { b: 2 }, duration: [0, 1_000_000], status: { code: 0 } },
    { attributes: { b: 2 }, duration: [0, 0], status: { code: 0 } },
    { attributes: { a: 1, b: 2, 'error.type': 'T' }, duration: [0, 500_000_000], status: { code: 2, message: 'm' } },
  ]);
});

test('a context for rows only from a provider that makes real spans', () => {
  const contextOf = () =>
    openTelemetry.begin(() => ({ name: 'it', kind: 'client', startAt: 0, attributes: {} }))?.traceparent;
  expect(contextOf()).toBeUndefined();
  {
    using _ = recordSpans({ sampler: new AlwaysOffSampler() });
    expect(contextOf()).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  }
  {
    using _ = recordSpans({ hasContexts: false });
    expect(contextOf()).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  }
  // A provider of another library may make spans that are never exported.
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: () => trace.wrapSpanContext(INVALID) }) as never });
  const span = openTelemetry.begin(() => ({ name: 'it', kind: 'client', startAt: 0, attributes: {} }));
  trace.disable();
  expect(span).toBeDefined();
  expect(span?.traceparent).toBeUndefined();
});

const INVALID = { traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 };
