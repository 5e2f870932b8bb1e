/**
 * Every span that a task's life may have, as a draft and its end, for each kind of row; and every place that a draft may ask for, as
 * OpenTelemetry's SDK sees it.
 *
 * A changed line is a changed trace. After an intended change: `npx vitest run test/unit/tasks/tracing -u`, and read the difference.
 */
import type { Tracer } from '@opentelemetry/api';
import { context, trace } from '@opentelemetry/api';
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace-base';
import { expect, test } from 'vitest';
import { defined } from '../../../../shared/core/defined.ts';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import type { RunningTask } from '../../../../shared/tasks/task/task.ts';
import { openTelemetry } from '../../../../shared/tasks/tracing/open-telemetry.ts';
import type { AttemptSpans } from '../../../../shared/tasks/tracing/task-spans.ts';
import { TaskSpans, validAttemptSpans } from '../../../../shared/tasks/tracing/task-spans.ts';
import type { Span, SpanDraft, Tracing } from '../../../../shared/tasks/tracing/tracing.ts';
import { sendWithin } from '../../../../shared/tasks/tracing/tracing.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';
import { recordSpans } from '../../../support/spans.ts';
import { shown } from '../../../support/story.ts';

const ROW = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

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

const TASK = { queue: 'q', id: 't', name: 'resize' };
const died = { how: 'died', leaseCounter: 6, session: 'dead', endedAt: 4_500 };
const running = (facts: object): RunningTask =>
  ({
    ...TASK,
    attempts: 3,
    leaseCounter: 7,
    session: 's',
    claimedAt: 5_000,
    readyAt: 2_000,
    past: [],
    ...facts,
  }) as never;

const ATTEMPTS: readonly (readonly [string, RunningTask, boolean])[] = [
  ['a first attempt', running({ attempts: 1 }), false],
  ['an attempt after a failure', running({ past: [{ ...died, how: 'failed' }] }), false],
  ['one that was handed back by a crashed worker before', running({ past: [died] }), false],
  ['a takeover', running({ past: [{ ...died, claimedAt: 3_000 }] }), true],
  ['a takeover from a worker of an older release', running({ past: [died] }), true],
  ['a takeover from a holder that only lost it', running({ past: [{ ...died, how: 'released' }] }), true],
  ['a takeover without a past', running({}), true],
];

const verbsOf = (spans: TaskSpans, traceparent: string | undefined): readonly (readonly [string, () => unknown])[] => {
  const row = <T extends object>(task: T): T => ({ ...task, ...defined({ traceparent }) });
  const attempt = telling([]).begin(() => ({ name: 'attempt', kind: 'consumer', startAt: 0, attributes: {} }));
  return [
    ['send', () => spans.send(row(TASK), 1_000)],
    ['create', () => spans.create(row(TASK), 1_000)],
    ['create a child', () => spans.create(row(TASK), 1_000, attempt)],
    ...ATTEMPTS.map(([name, task, takenOver]) => [name, () => void spans.attempt(row(task), { takenOver })] as const),
    ['buried', () => spans.buried(row(running({ past: [died] })), 6_000)],
    ['a settlement', () => void spans.settle('retry', row(running({})), { at: 1_000, within: attempt })],
  ];
};

function linesOf(how: AttemptSpans): readonly string[] {
  const lines: string[] = [];
  const spans = new TaskSpans(telling(lines), how);
  for (const traceparent of [undefined, ROW])
    for (const [name, act] of verbsOf(spans, traceparent)) {
      lines.push(`${name}, ${traceparent === undefined ? 'without a context' : 'with a context'} in its row`);
      const answer = act() as { readonly traceparent?: string } | undefined;
      lines.push(`  context of the task afterwards: ${answer?.traceparent}`);
    }
  for (const settlement of ['done', 'retried', 'dead', 'released', 'snoozed', 'cancelled', 'lost', 'unsettled']) {
    const span = telling(lines).begin(() => ({ name: 'attempt', kind: 'consumer', startAt: 0, attributes: {} }));
    spans.endAttempt(span, { at: 9_000, settlement });
  }
  return lines;
}

test('the drafts and ends of every verb', async () => {
  await expect(`${linesOf('parent').join('\n')}\n`).toMatchFileSnapshot('./spans.golden.txt');
});

test('an attempt beside its row is a root with a link, and all else is as under it', () => {
  const under = linesOf('parent').map((line) =>
    line.replace(/^( {2}begins process q \{)(.*), parent: ('.*') \}$/, '$1 isRoot: true, links: [ $3 ],$2 }'),
  );

  expect(linesOf('link')).toEqual(under);
});

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
  expect(lines.filter((line) => line.startsWith('  ends')).join('\n')).toMatchInlineSnapshot(`
    "  ends write { at: 5000, error: undefined }
      ends write { at: 5000, error: { type: 'refused', message: 'the claim is no longer the current one' } }
      ends write { at: 5000, error: { type: 'StoreUnavailableError', message: 'writing' } }
      ends write { at: 5000, error: { type: 'TypeError', message: 'no response' } }"
  `);
});

test('checks the setting', () => {
  expect([validAttemptSpans(), validAttemptSpans('link')]).toEqual(['parent', 'link']);
  expect(() => validAttemptSpans('Link')).toThrow('attemptSpans = "Link": must be one of parent, link');
});

test('the place of a span, by its draft and by the active span', async () => {
  using recorded = recordSpans();
  const lines: string[] = [];
  const theirs: Tracer = trace.getTracer('theirs');
  const names = new Map([['b'.repeat(16), 'the context in the row']]);
  const known = (name: string, id: string): string => {
    names.set(id, name);
    return id;
  };
  const draft = (facts: Partial<SpanDraft>): SpanDraft => ({
    name: 'it',
    kind: 'client',
    startAt: 2_000,
    attributes: {},
    ...facts,
  });
  const other = openTelemetry.begin(() => draft({ name: 'other', isRoot: true }));
  known('another span of ours', other?.traceparent?.split('-')[2] ?? '');
  const drafts: readonly (readonly [string, Partial<SpanDraft>])[] = [
    ['no wish', {}],
    ['a fallback', { fallback: other }],
    ['a span as parent', { parent: other, linksActive: true }],
    ['a context as parent', { parent: ROW }],
    ['a context as parent, and a fallback', { parent: ROW, fallback: other, linksActive: true }],
    ['an unreadable parent', { parent: 'unreadable', fallback: other }],
    ['a parent of a future version', { parent: `${ROW}-more` }],
    ['root', { isRoot: true }],
    [
      'root, in spite of a parent',
      { isRoot: true, parent: ROW, fallback: other, links: [ROW, undefined, 'bad'], linksActive: true },
    ],
    ['links', { links: [ROW, other?.traceparent] }],
  ];
  for (const active of ['nothing', 'a span'] as const)
    for (const [name, facts] of drafts) {
      const begin = () => openTelemetry.begin(() => draft(facts));
      const around = theirs.startSpan('theirs');
      known('the active span', around.spanContext().spanId);
      const span = active === 'nothing' ? begin() : context.with(trace.setSpan(context.active(), around), begin);
      span?.end({ at: 3_000 });
      const [seen] = recorded.take();
      const parent = names.get(seen?.parentSpanContext?.spanId ?? '') ?? 'nothing';
      const isRemote = seen?.parentSpanContext?.isRemote === true ? ', remote' : '';
      const links = seen?.links.map(({ context: { spanId } }) => names.get(spanId)).join(' and ');
      lines.push(
        `${name}, while ${active} is active: under ${parent}${isRemote}${links ? `, linked to ${links}` : ''}`,
      );
    }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./places.golden.txt');
});

test('the end of a span: its attributes, its error, and never before its start', () => {
  using recorded = recordSpans();
  const ends = [{ at: 2_001 }, { at: 1 }, { at: 2_500, attributes: { a: 1 }, error: { type: 'T', message: 'm' } }];

  for (const end of ends)
    openTelemetry.begin(() => ({ name: 'it', kind: 'producer', startAt: 2_000, attributes: { b: 2 } }))?.end(end);

  expect(recorded.take().map(({ kind, duration, attributes, status }) => ({ kind, duration, attributes, status })))
    .toMatchInlineSnapshot(`
    [
      {
        "attributes": {
          "b": 2,
        },
        "duration": [
          0,
          1000000,
        ],
        "kind": 3,
        "status": {
          "code": 0,
        },
      },
      {
        "attributes": {
          "b": 2,
        },
        "duration": [
          0,
          0,
        ],
        "kind": 3,
        "status": {
          "code": 0,
        },
      },
      {
        "attributes": {
          "a": 1,
          "b": 2,
          "error.type": "T",
        },
        "duration": [
          0,
          500000000,
        ],
        "kind": 3,
        "status": {
          "code": 2,
          "message": "m",
        },
      },
    ]
  `);
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
