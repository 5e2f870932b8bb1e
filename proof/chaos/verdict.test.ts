import { describe, expect, test } from 'vitest';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import type { Evidence, LedgerEntry, PlatformTally } from './evidence.ts';
import type { Arm, JournalEntry, JournalLine } from './journal.ts';
import { FATES, PROCESS_FAULTS } from './profile.ts';
import type { Judgement, Violation } from './verdict.ts';
import { judge } from './verdict.ts';

describe('judge', () => {
  test('finds nothing wrong with a run in which all went well, and the control lost', () => {
    const judgement = judge(evidence());

    expect(violated(judgement)).toEqual([]);
    expect(judgement.control).toEqual({ doubleEffects: 1, acknowledgedUpdates: 1, lostUpdates: 1 });
    expect(judgement.shortfalls).toEqual([]);
    expect(judgement.kept).toBe(true);
  });

  test.each<{ what: string; change: Partial<Evidence>; violation: Violation }>([
    {
      what: 'a task that is still ready',
      change: { rows: rows({ 'fenced-1': { state: 'ready' } }) },
      violation: 'lost',
    },
    { what: 'a task that died', change: { rows: rows({ 'naive-1': { state: 'dead' } }) }, violation: 'lost' },
    { what: 'an acknowledged task without a row', change: { rows: new Map() }, violation: 'lost' },
    { what: 'a done task without its effect', change: { ledger: new Map() }, violation: 'missingEffects' },
    {
      what: 'an effect that took place twice',
      change: { ledger: ledger({ 'fenced-1': { commits: 2, token: 12 } }) },
      violation: 'doubleEffects',
    },
    {
      what: 'a commit that was acknowledged under another token than the one that took effect',
      change: { journal: [...journal(), line({ kind: 'committed', arm: 'fenced', task: 'fenced-1', token: 11 }, 9)] },
      violation: 'brokenPromises',
    },
    {
      what: 'two executions under one token',
      change: {
        journal: [...journal(), line({ kind: 'began', arm: 'naive', task: 'naive-1', attempt: 1, token: 5 }, 9)],
      },
      violation: 'duplicateTokens',
    },
    {
      what: 'a token that was granted twice',
      change: { journal: [...journal(), granted(22, 60)] },
      violation: 'tokensBackwards',
    },
    {
      what: 'a token smaller than one before',
      change: { journal: [...journal(), granted(19, 60)] },
      violation: 'tokensBackwards',
    },
    {
      what: 'a holder that believes after its successor was granted',
      change: { journal: [...journal(), line({ kind: 'believed', arm: 'fenced', key: 'fenced/1', token: 21 }, 45)] },
      violation: 'beliefOverlaps',
    },
    { what: 'an acknowledged element that is not there', change: { registers: new Map() }, violation: 'lostUpdates' },
    { what: 'a permit that was not given back', change: { leaks: { permits: 1, sessions: 0 } }, violation: 'leaks' },
    {
      what: 'an error of our own',
      change: { journal: [...journal(), trouble('fenced', 'InvariantError')] },
      violation: 'unexpectedErrors',
    },
    {
      what: 'an error of the SDK that the library lets through',
      change: { journal: [...journal(), trouble('fenced', 'TimeoutError')] },
      violation: 'unexpectedErrors',
    },
    {
      what: 'an error of the SDK by which an invocation ends',
      change: { platform: platform({ errors: new Map([['AbortError', { count: 1, example: 'aborted' }]]) }) },
      violation: 'unexpectedErrors',
    },
  ])('notices $what', ({ change, violation }) => {
    const judgement = judge(evidence(change));

    expect(violated(judgement)).toContain(violation);
    expect(judgement.kept).toBe(false);
  });

  test('lets naive code end by errors of its SDK', () => {
    expect(violated(judge(evidence({ journal: [...journal(), trouble('naive', 'TimeoutError')] })))).toEqual([]);
  });

  test('does not blame holders for believing too long when clocks were out of bounds', () => {
    const overlap = line({ kind: 'believed', arm: 'fenced', key: 'fenced/1', token: 21 }, 45);

    const judgement = judge(evidence({ journal: [...journal(), overlap], clocksWithinBound: false }));

    expect(violated(judgement)).toEqual([]);
    expect(judgement.figures.beliefOverlaps).toBe(1);
  });

  test('does not count a run whose control lost nothing', () => {
    const tame = { ledger: ledger({ 'naive-1': { commits: 1, token: 5 } }), journal: journal().slice(0, -1) };

    expect(judge(evidence(tame))).toMatchObject({ kept: false, shortfalls: [expect.stringContaining('naive')] });
  });

  test('does not count a run of minutes that did next to nothing, nor one that never met a fault of some kind', () => {
    const { shortfalls } = judge(evidence({ minutes: 2 }));

    expect(shortfalls.join('\n')).toMatch(/processFaults: 0/);
    expect(shortfalls.join('\n')).toMatch(/acknowledgedUpdates: 2, at least/);
    expect(shortfalls.join('\n')).toMatch(/duplicateTicks: 0/);
    expect(shortfalls.join('\n')).toMatch(/no herd took effect/);
  });
});

function violated({ violations }: Judgement): string[] {
  return Object.entries(violations).flatMap(([name, cases]) => (cases.length > 0 ? [name] : []));
}

function evidence(changes: Partial<Evidence> = {}): Evidence {
  return {
    minutes: 0.1,
    clocksWithinBound: true,
    acknowledged: [
      { id: 'fenced-1', arm: 'fenced' },
      { id: 'naive-1', arm: 'naive' },
    ],
    rows: rows(),
    ledger: ledger(),
    registers: new Map([['fenced/1', ['a', 'b']]]),
    journal: journal(),
    network: {
      requests: 0,
      writes: 0,
      partitioned: 0,
      ambiguous: { applied: 0, lost: 0 },
      refusedByOwnNonce: 0,
      fates: countsOf(FATES),
    },
    processFaults: countsOf(PROCESS_FAULTS),
    partitions: 0,
    platform: platform(),
    leaks: { permits: 0, sessions: 0 },
    ...changes,
  };
}

/** The naive element that was acknowledged last is in no register: that is the control's loss. */
function journal(): JournalLine[] {
  return [
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
}

function trouble(arm: Arm, error: string): JournalLine {
  return line({ kind: 'trouble', arm, error, message: 'no' }, 9);
}

function platform(changes: Partial<PlatformTally> = {}): PlatformTally {
  return {
    invocations: 0,
    timeouts: 0,
    takeovers: 0,
    duplicateTicks: 0,
    sessionsLost: 0,
    errors: new Map(),
    ...changes,
  };
}

function granted(token: number, at: number): JournalLine {
  return line({ kind: 'granted', arm: 'fenced', key: 'fenced/1', token, session: 's', askedAt: at - 5 }, at);
}

function line(entry: JournalEntry, at: number): JournalLine {
  return { ...entry, at, who: 'chaos-register-1' };
}

function rows(changes: Readonly<Record<string, { state: string }>> = {}): Map<string, TaskRecord> {
  const row = (id: string, leaseCounter: number) => [id, { id, leaseCounter, state: 'done', ...changes[id] }] as const;
  return new Map([row('fenced-1', 12), row('naive-1', 5)]) as unknown as Map<string, TaskRecord>;
}

function ledger(changes: Readonly<Record<string, LedgerEntry>> = {}): Map<string, LedgerEntry> {
  return new Map(
    Object.entries({ 'fenced-1': { commits: 1, token: 12 }, 'naive-1': { commits: 2, token: 5 }, ...changes }),
  );
}

function countsOf<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}
