/** `claimCandidate`: the write for each kind of candidate, and the consequence of its outcome. */
import { describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import type { Candidate } from '../../../../shared/tasks/picker/candidate.ts';
import { claimCandidate, isClaimed } from '../../../../shared/tasks/worker/claim-candidate.ts';
import { Tally } from '../../../../shared/tasks/worker/tally.ts';
import type { AnyTask } from '../../../../shared/tasks/task/definition.ts';
import { defineTask, registerTasks } from '../../../../shared/tasks/task/definition.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const clock = new ManualClock('2026-01-01T00:00:00Z');
const NOW = clock.now();
const retry = { maxAttempts: 5, maxDeaths: 3 };
const work = defineTask({ name: 'work', input: z.unknown(), run: () => undefined, retry });
const WORK = registerTasks({ work }).get('work');
const ROW = { id: 't', state: 'running', session: 's' };
const FULL = { key: 'k' };
const REFUSED = { kind: 'refused', current: { state: 'running' } };
const APPLIED = { kind: 'applied', row: ROW };

interface Row {
  readonly attempts?: number;
  readonly deaths?: number;
  readonly expiresAt?: number;
}

async function claim(
  kind: 'ready' | 'abandoned' | 'adopted',
  row: Row,
  outcome: object,
  { definition, events }: { readonly definition?: AnyTask | undefined; readonly events?: object } = {},
) {
  const task = { id: 't', name: 'work', session: 'gone', attempts: 1, deaths: 0, past: [], leaseCounter: 7, ...row };
  const candidate = { kind, task, expectsCapacity: true } as unknown as Candidate;
  const answer = () => vi.fn<(...sent: unknown[]) => Promise<object>>().mockResolvedValue(outcome);
  const tasks = { claim: answer(), takeOver: answer(), expire: answer(), markDead: answer() };
  const told = { onDied: vi.fn<() => void>(), onExpired: vi.fn<() => void>() };
  const [spans, log] = [{ markedDead: vi.fn<() => void>() }, { error: vi.fn<() => void>() }];
  const tally = new Tally(undefined);
  const session = { id: 's', signal: new AbortController().signal, ensureTrusted: vi.fn<() => void>() };
  const ports = {
    tasks,
    session,
    runtime: { ...systemRuntime, clock },
    log,
    // An application without hooks has no spans either.
    spans: events === undefined ? spans : undefined,
    handBack: session.signal,
    tally,
    tell: (say: (events: object) => void) => say(events ?? told),
  };
  const result = await claimCandidate(candidate, definition, ports as unknown as Parameters<typeof claimCandidate>[2]);
  const counted = Object.entries(tally.read()).filter(([, count]) => count === 1);
  const sent = Object.entries(tasks).flatMap(([verb, { mock }]) => mock.calls.map(() => verb));
  return { result, sent, counts: counted.map(([what]) => what), task, tasks, told, spans, log, session };
}

const known = { definition: WORK };

interface Expected {
  readonly result?: unknown;
  readonly sent?: readonly string[];
  readonly counts?: readonly string[];
}

test.each<[string, Parameters<typeof claim>, Expected]>([
  ['a ready task is claimed', ['ready', {}, APPLIED, known], { result: ROW, sent: ['claim'], counts: [] }],
  ['a task whose time is not over is claimed', ['ready', { expiresAt: NOW + 1 }, APPLIED, known], { sent: ['claim'] }],
  ['a refused claim is counted', ['ready', {}, REFUSED, known], { result: 'contended', counts: ['claimsRefused'] }],
  [
    'a full key is no refusal',
    ['ready', {}, { ...REFUSED, full: FULL }, known],
    { result: { full: FULL }, counts: [] },
  ],
  [
    'a refusal that names no full key is one',
    ['ready', {}, { ...REFUSED, full: undefined }, known],
    { result: 'contended', counts: ['claimsRefused'] },
  ],
  [
    'an overdue task expires',
    ['ready', { expiresAt: NOW }, APPLIED],
    { result: 'expired', sent: ['expire'], counts: ['expired'] },
  ],
  [
    'a task that another worker took first does not expire',
    ['ready', { expiresAt: NOW }, REFUSED],
    { result: 'contended', counts: [] },
  ],
  [
    'an overdue task that runs already is taken over',
    ['abandoned', { expiresAt: NOW }, APPLIED, known],
    { sent: ['takeOver'] },
  ],
  [
    'a takeover is counted',
    ['abandoned', {}, APPLIED, known],
    { result: ROW, sent: ['takeOver'], counts: ['takenOver'] },
  ],
  [
    'a refused takeover is counted',
    ['abandoned', {}, REFUSED, known],
    { result: 'contended', counts: ['claimsRefused'] },
  ],
  ['a task without a definition is not marked dead', ['abandoned', { deaths: 9 }, APPLIED], { sent: ['takeOver'] }],
  [
    'a ready task that was attempted too often is claimed',
    ['ready', { attempts: 9 }, APPLIED, known],
    { sent: ['claim'] },
  ],
  [
    'a task with its last death but one is taken over',
    ['abandoned', { deaths: 1 }, APPLIED, known],
    { sent: ['takeOver'] },
  ],
  [
    'a task with its last death is marked dead',
    ['abandoned', { deaths: 2 }, APPLIED, known],
    { result: 'ended', sent: ['markDead'], counts: ['markedDead'] },
  ],
  [
    'a task without attempts left is marked dead',
    ['abandoned', { attempts: 5 }, APPLIED, known],
    { result: 'ended', sent: ['markDead'] },
  ],
  [
    'a task that another worker settled first is not',
    ['abandoned', { deaths: 2 }, REFUSED, known],
    { result: 'contended', counts: [] },
  ],
])('%s', async (_what, given, expected) => {
  const { result, sent, counts } = await claim(...given);

  expect({ result, sent, counts }).toMatchObject(expected);
});

test('its own task that it finds again is claimed already', async () => {
  const { result, sent, task } = await claim('adopted', {}, APPLIED, known);

  expect(result).toBe(task);
  expect(sent).toEqual([]);
});

test.each([
  ['claim', 'ready'],
  ['takeOver', 'abandoned'],
] as const)('a %s is sent only while the session is trusted, and a claim knows of the capacity', async (verb, kind) => {
  const { tasks, session } = await claim(kind, {}, APPLIED, known);

  const [, id, stamp, limits] = tasks[verb].mock.calls[0] ?? [];
  expect([id, stamp]).toMatchObject(['s', { now: NOW }]);
  expect(limits).toMatchObject({ signal: session.signal, ...(verb === 'claim' ? { expectsCapacity: true } : {}) });
  (limits as { ensureTrusted(): void }).ensureTrusted();
  expect(session.ensureTrusted).toHaveBeenCalledOnce();
});

describe('reports', () => {
  test.each([
    [
      { attempts: 3, deaths: 2 },
      /^its worker died 3 times without a word, the last in session gone; a worker leaves none/,
    ],
    [
      { attempts: 5, deaths: 2 },
      /died 3 times .*, the last in session gone; it was attempted 5 times; a worker leaves none/,
    ],
  ])('of a dead task (%j)', async (row, message) => {
    const { task, tasks, told, spans, log } = await claim('abandoned', row, APPLIED, known);

    const error = { name: 'WorkerDied', message: expect.stringMatching(message) as string, at: NOW };
    expect(tasks.markDead.mock.calls).toMatchObject([[task, error, { now: NOW, nonce: expect.any(String) as string }]]);
    expect(told.onDied.mock.calls).toEqual([[task, error]]);
    expect(spans.markedDead.mock.calls).toEqual([[task, NOW]]);
    expect(log.error.mock.calls).toEqual([['task is dead', { task: 't', name: 'work', error }]]);
  });

  test('of an expired task, and of nothing that another worker did', async () => {
    const { task, told } = await claim('ready', { expiresAt: NOW }, APPLIED);
    expect(told.onExpired.mock.calls).toEqual([[task]]);

    for (const [kind, row] of [
      ['ready', { expiresAt: NOW }],
      ['abandoned', { deaths: 2 }],
    ] as const) {
      const late = await claim(kind, row, REFUSED, known);
      for (const hook of [late.told.onDied, late.told.onExpired, late.spans.markedDead, late.log.error])
        expect(hook).not.toHaveBeenCalled();
    }
  });

  test('needs no hooks', async () => {
    const events = {};
    expect((await claim('ready', { expiresAt: NOW }, APPLIED, { events })).result).toBe('expired');
    expect((await claim('abandoned', { deaths: 2 }, APPLIED, { ...known, events })).result).toBe('ended');
  });
});

test('only a row is a claim', () => {
  expect([ROW, 'contended', { full: FULL }].map((result) => isClaimed(result as never))).toEqual([true, false, false]);
});
