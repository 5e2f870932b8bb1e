import { expect, test } from 'vitest';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import type { JournalEntry, JournalLine } from './journal.ts';
import type { Arm } from './profile.ts';
import type { Evidence } from './verdict.ts';
import { judge } from './verdict.ts';

const line = (entry: JournalEntry, at: number): JournalLine => ({ ...entry, at, who: 'chaos-register-1' });
const granted = (token: number, at: number) =>
  line({ kind: 'granted', arm: 'fenced', key: 'fenced/1', token, session: 's', askedAt: at - 5 }, at);
const trouble = (arm: Arm, error: string) => line({ kind: 'trouble', arm, error, message: 'no' }, 9);
const rows = (state: Readonly<Record<string, string>> = {}) =>
  new Map([
    ['fenced-1', { leaseCounter: 12, state: state['fenced-1'] ?? 'done' }],
    ['naive-1', { leaseCounter: 5, state: state['naive-1'] ?? 'done' }],
  ]) as unknown as Map<string, TaskRecord>;

/** The naive element that was acknowledged last is in no register: that is the control's loss. */
const JOURNAL: readonly JournalLine[] = [
  line({ kind: 'began', arm: 'fenced', task: 'fenced-1', attempt: 1, token: 11 }, 1),
  line({ kind: 'began', arm: 'fenced', task: 'fenced-1', attempt: 2, token: 12 }, 2),
  line({ kind: 'committed', arm: 'fenced', task: 'fenced-1', token: 12 }, 3),
  line({ kind: 'began', arm: 'naive', task: 'naive-1', attempt: 1, token: 5 }, 4),
  granted(21, 20),
  line({ kind: 'believed', arm: 'fenced', key: 'fenced/1', token: 21 }, 25),
  line({ kind: 'acknowledged', arm: 'fenced', key: 'fenced/1', element: 'a' }, 26),
  granted(22, 40),
  line({ kind: 'acknowledged', arm: 'fenced', key: 'fenced/1', element: 'b' }, 46),
  line({ kind: 'acknowledged', arm: 'naive', key: 'naive/1', element: 'c' }, 47),
];
const WHOLE: Evidence = {
  acknowledged: [
    { id: 'fenced-1', arm: 'fenced' },
    { id: 'naive-1', arm: 'naive' },
  ],
  rows: rows(),
  ledger: new Map(Object.entries({ 'fenced-1': { commits: 1, token: 12 }, 'naive-1': { commits: 2, token: 5 } })),
  registers: new Map([['fenced/1', ['a', 'b']]]),
  journal: JOURNAL,
  errors: new Map(),
  leaks: { permits: 0, sessions: 0 },
};
const also = (...lines: readonly JournalLine[]) => ({ journal: [...JOURNAL, ...lines] });
const DOUBLE = new Map(Object.entries({ 'fenced-1': { commits: 2, token: 12 } }));

test('nothing is wrong with a run in which all went well, and the control lost', () => {
  expect(judge(WHOLE)).toEqual({ broken: {}, controlLosses: 2 });
  expect(judge({ ...WHOLE, ...also(trouble('naive', 'TimeoutError')) }).broken).toEqual({});
});

test.each<readonly [what: string, change: Partial<Evidence>, rule: string]>([
  ['a task that is still ready', { rows: rows({ 'fenced-1': 'ready' }) }, 'I15'],
  ['a task that died', { rows: rows({ 'naive-1': 'dead' }) }, 'I15'],
  ['an acknowledged task without a row', { rows: new Map() }, 'I15'],
  ['a done task without its effect', { ledger: new Map() }, 'I16'],
  ['an effect that took place twice', { ledger: DOUBLE }, 'I16'],
  [
    'a commit under another token than the one that took effect',
    also(line({ kind: 'committed', arm: 'fenced', task: 'fenced-1', token: 11 }, 9)),
    'I17',
  ],
  [
    'two executions under one token',
    also(line({ kind: 'began', arm: 'naive', task: 'naive-1', attempt: 1, token: 5 }, 9)),
    'I3',
  ],
  ['a token that was granted twice', also(granted(22, 60)), 'I3'],
  ['a token smaller than one before', also(granted(19, 60)), 'I3'],
  [
    'a holder that believes after its successor was granted',
    also(line({ kind: 'believed', arm: 'fenced', key: 'fenced/1', token: 21 }, 45)),
    'I1',
  ],
  ['an acknowledged element that is not there', { registers: new Map() }, 'I2b'],
  ['a permit that was not given back', { leaks: { permits: 1, sessions: 0 } }, 'L7'],
  ['an error of our own', also(trouble('fenced', 'InvariantError')), 'unexpected errors'],
  ['an error of the SDK in an invocation', { errors: new Map([['AbortError', 'aborted']]) }, 'unexpected errors'],
])('notices %s', (_what, change, rule) => {
  expect(Object.keys(judge({ ...WHOLE, ...change }).broken).join()).toContain(rule);
});
