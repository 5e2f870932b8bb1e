/** The judgement of a run: pure, so that it can be tested with evidence that was tampered with. */
import type { Evidence } from './evidence.ts';
import type { Arm, JournalLine } from './journal.ts';

interface Figures {
  readonly minutes: number;
  readonly processFaults: number;
  readonly networkFaults: number;
  readonly partitions: number;
  readonly storeRequests: number;
  readonly ambiguousOutcomes: number;
  /** Ambiguous writes that their writer recognised by its own nonce when it asked again. */
  readonly resolvedByOwnNonce: number;
  readonly takeovers: number;
  readonly sessionsLost: number;
  readonly duplicateTicks: number;
  readonly invocations: number;
  readonly tasks: number;
  readonly done: number;
  /** Executions beyond the first: execution is at least once. */
  readonly repeatedExecutions: number;
  readonly acquires: number;
  readonly acknowledgedUpdates: number;
  /** Holders of one key that believed at once. Judged only while clocks keep their bound. */
  readonly beliefOverlaps: number;
}

export interface Judgement {
  readonly kept: boolean;
  readonly figures: Figures;
  /** Violations by invariant, with the cases that broke it: must all be empty. */
  readonly violations: Readonly<Record<Violation, readonly string[]>>;
  /** Losses and doubles of the naive arm: a run in which it has none does not count. */
  readonly control: {
    readonly doubleEffects: number;
    readonly acknowledgedUpdates: number;
    readonly lostUpdates: number;
  };
  /** The requirements on useful work that the run missed. */
  readonly shortfalls: readonly string[];
  readonly faults: Readonly<Record<string, number>>;
  readonly errors: Readonly<Record<string, number>>;
}

export const VIOLATIONS = {
  lost: 'tasks lost (I15)',
  missingEffects: 'done without their effect (I16)',
  doubleEffects: 'double effects (I16)',
  brokenPromises: 'acknowledged, then not so (I17)',
  duplicateTokens: 'duplicate tokens (I3)',
  tokensBackwards: 'tokens that went back (I3)',
  lostUpdates: 'acknowledged updates lost (I2b)',
  beliefOverlaps: 'two believed at once (I1)',
  leaks: 'left behind at rest (L7)',
  unexpectedErrors: 'unexpected errors',
} as const;
export type Violation = keyof typeof VIOLATIONS;

/** Errors that these faults may cause in an invocation or a holder; any other error is our mistake. */
const EXPECTED_ERRORS: ReadonlySet<string> = new Set([
  'StoreUnavailableError',
  'LeaseLostError',
  'LockUnavailableError',
  'FenceRefusedError',
  'ClockSkewError',
  // the platform's own words for a killed process
  'Sandbox.Timedout',
  'Runtime.ExitError',
  'Sandbox.Killed',
]);

/** Naive code may also end with any error of its SDK. */
const EXPECTED_OF_NAIVE_CODE: ReadonlySet<string> = new Set([
  ...['TimeoutError', 'AbortError', 'InternalServerError', 'ProvisionedThroughputExceededException'],
  ...['ECONNRESET', 'Error'],
]);

/** An expiry beyond reason is taken for damage (I23), and clocks that are seconds apart make such expiries. */
const EXPECTED_OF_BROKEN_CLOCKS: ReadonlySet<string> = new Set(['CorruptItemError']);

/** Per minute. A run that did less has shown nothing. */
const MINIMUM_PER_MINUTE: Partial<Figures> = {
  processFaults: 60,
  ambiguousOutcomes: 60,
  storeRequests: 2_000,
  done: 60,
  takeovers: 5,
  duplicateTicks: 10,
  acquires: 60,
  acknowledgedUpdates: 30,
};
/** Starting up and settling down take their part of a short run. */
const START_UP_MINUTES = 0.15;
/** From this length on, every kind of fault must have been seen. */
const REACHABILITY_MINUTES = 1.5;

/** Returns the kinds of faults that never took effect, although a run of that length should have met each. */
export function missedFaults(minutes: number, torment: Torment): readonly string[] {
  if (minutes < REACHABILITY_MINUTES) return [];
  return Object.entries(faultsOf(torment)).flatMap(([fault, count]) => (count === 0 ? [fault] : []));
}

export function judge(evidence: Evidence): Judgement {
  const violations: Record<Violation, string[]> = {
    ...judgeTasks(evidence),
    ...judgeGrants(evidence),
    lostUpdates: lostUpdates(evidence, 'fenced'),
    leaks: judgeLeaks(evidence),
    unexpectedErrors: unexpectedErrors(evidence),
  };
  const control = {
    doubleEffects: doubleEffects(evidence, 'naive').length,
    acknowledgedUpdates: acknowledgedUpdates(evidence, 'naive').length,
    lostUpdates: lostUpdates(evidence, 'naive').length,
  };
  const figures = figuresOf(evidence, violations.beliefOverlaps.length);
  if (!evidence.clocksWithinBound) violations.beliefOverlaps = [];
  const shortfalls = shortfallsOf(evidence, figures, control);
  return {
    kept: shortfalls.length === 0 && Object.values(violations).every((cases) => cases.length === 0),
    figures,
    violations,
    control,
    shortfalls,
    faults: faultsOf(evidence),
    errors: errorCounts(evidence),
  };
}

function judgeTasks(
  evidence: Evidence,
): Record<'lost' | 'missingEffects' | 'doubleEffects' | 'brokenPromises' | 'duplicateTokens', string[]> {
  const { acknowledged, rows, ledger, journal } = evidence;
  const fenced = acknowledged.filter(({ arm }) => arm === 'fenced').map(({ id }) => id);
  const lost = acknowledged.flatMap(({ id }) => {
    const state = rows.get(id)?.state ?? 'missing';
    return state === 'done' ? [] : [`${id} is ${state}`];
  });
  const done = fenced.filter((id) => rows.get(id)?.state === 'done');
  const missingEffects = done.filter((id) => !ledger.has(id));
  const brokenPromises = journal.flatMap((line) => {
    if (line.kind !== 'committed' || line.arm !== 'fenced') return [];
    const effect = ledger.get(line.task)?.token;
    const row = rows.get(line.task);
    const isKept = effect === line.token && row?.state === 'done' && row.leaseCounter === line.token;
    return isKept
      ? []
      : [
          `${line.task}: token ${line.token} was acknowledged, the effect is of ${effect}, the row says ${row?.state} ${row?.leaseCounter}`,
        ];
  });
  const executions = journal.filter((line) => line.kind === 'began').map(({ task, token }) => `${task} token ${token}`);
  return {
    lost,
    missingEffects,
    doubleEffects: doubleEffects(evidence, 'fenced'),
    brokenPromises,
    duplicateTokens: repeated(executions),
  };
}

function doubleEffects({ acknowledged, ledger }: Evidence, wanted: Arm): string[] {
  return acknowledged.flatMap(({ id, arm }) => {
    const commits = ledger.get(id)?.commits ?? 0;
    return arm === wanted && commits > 1 ? [`${id}: ${commits} times`] : [];
  });
}

type Grant = Extract<JournalLine, { kind: 'granted' }>;

function judgeGrants({ journal }: Evidence): Record<'tokensBackwards' | 'beliefOverlaps', string[]> {
  const grants = Map.groupBy(
    journal.filter((line): line is Grant => line.kind === 'granted'),
    ({ key }) => key,
  );
  const beliefs = journal.filter((line) => line.kind === 'believed');
  const tokensBackwards: string[] = [];
  for (const [key, list] of grants) {
    tokensBackwards.push(...repeated(list.map(({ token }) => `${key} token ${token}`)));
    // A request that began after another's answer must have got a larger token.
    const byAnswer = list.toSorted((a, b) => a.at - b.at);
    for (const later of list) {
      const earlier = byAnswer.findLast(({ at }) => at < later.askedAt);
      const largest = Math.max(...byAnswer.filter(({ at }) => at < later.askedAt).map(({ token }) => token), -Infinity);
      if (earlier !== undefined && largest >= later.token)
        tokensBackwards.push(`${key}: ${later.token} after ${largest}`);
    }
  }
  const beliefOverlaps = beliefs.flatMap(({ key, token, at, who }) => {
    const next = grants.get(key)?.find((grant) => grant.token > token && grant.at < at);
    return next === undefined
      ? []
      : [`${key}: ${who} believed in ${token} at ${at}, ${next.who} was granted ${next.token} at ${next.at}`];
  });
  return { tokensBackwards, beliefOverlaps };
}

function lostUpdates(evidence: Evidence, wanted: Arm): string[] {
  const contents = new Map([...evidence.registers].map(([key, list]) => [key, new Set(list)]));
  return acknowledgedUpdates(evidence, wanted).flatMap(({ key, element }) =>
    contents.get(key)?.has(element) === true ? [] : [`${key}: ${element}`],
  );
}

function acknowledgedUpdates({ journal }: Evidence, wanted: Arm) {
  return journal.filter((line) => line.kind === 'acknowledged').filter(({ arm }) => arm === wanted);
}

function judgeLeaks({ leaks }: Evidence): string[] {
  return Object.entries(leaks).flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`]));
}

function unexpectedErrors({ platform, journal, clocksWithinBound }: Evidence): string[] {
  const isExpected = (name: string, arm: Arm = 'fenced'): boolean =>
    EXPECTED_ERRORS.has(name) ||
    (arm === 'naive' && EXPECTED_OF_NAIVE_CODE.has(name)) ||
    (!clocksWithinBound && EXPECTED_OF_BROKEN_CLOCKS.has(name));
  const ofInvocations = [...platform.errors].filter(([name]) => !isExpected(name));
  const ofHolders = journal.flatMap((line) =>
    line.kind === 'trouble' && !isExpected(line.error, line.arm) ? [`${line.error}: ${line.message}`] : [],
  );
  return [
    ...ofInvocations.map(([name, { count, example }]) => `${count} × ${name}: ${example}`),
    ...new Set(ofHolders),
  ];
}

type Torment = Pick<Evidence, 'processFaults' | 'platform' | 'network' | 'partitions'>;

/** Every kind of fault, and how often it took effect. */
function faultsOf({ processFaults, platform, network, partitions }: Torment): Record<string, number> {
  return { ...processFaults, timeout: platform.timeouts, ...network.fates, partition: partitions };
}

function errorCounts({ platform, journal }: Evidence): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [name, { count }] of platform.errors) counts[`invocation: ${name}`] = count;
  for (const line of journal)
    if (line.kind === 'trouble') counts[`holder: ${line.error}`] = (counts[`holder: ${line.error}`] ?? 0) + 1;
  return counts;
}

function figuresOf(evidence: Evidence, beliefOverlaps: number): Figures {
  const { journal, network, platform, processFaults, partitions, acknowledged, rows } = evidence;
  const began = journal.filter(({ kind }) => kind === 'began').length;
  const executed = new Set(journal.flatMap((line) => (line.kind === 'began' ? [line.task] : []))).size;
  return {
    minutes: evidence.minutes,
    processFaults: sum(Object.values(processFaults)) + platform.timeouts,
    networkFaults: sum(Object.values(network.fates)) + network.partitioned,
    partitions,
    storeRequests: network.requests,
    ambiguousOutcomes: network.ambiguous.applied + network.ambiguous.lost,
    resolvedByOwnNonce: network.refusedByOwnNonce,
    takeovers: platform.takeovers,
    sessionsLost: platform.sessionsLost,
    duplicateTicks: platform.duplicateTicks,
    invocations: platform.invocations,
    tasks: acknowledged.length,
    done: acknowledged.filter(({ id }) => rows.get(id)?.state === 'done').length,
    repeatedExecutions: began - executed,
    acquires: journal.filter(({ kind }) => kind === 'granted').length,
    acknowledgedUpdates: acknowledgedUpdates(evidence, 'fenced').length,
    beliefOverlaps,
  };
}

function shortfallsOf(evidence: Evidence, figures: Figures, control: Judgement['control']): string[] {
  const shortfalls: string[] = [];
  const effective = Math.max(0, evidence.minutes - START_UP_MINUTES);
  for (const [name, perMinute] of Object.entries(MINIMUM_PER_MINUTE)) {
    const found = figures[name as keyof Figures];
    const wanted = Math.ceil(perMinute * effective);
    if (found < wanted) shortfalls.push(`${name}: ${found}, at least ${wanted} are wanted`);
  }
  if (control.doubleEffects + control.lostUpdates === 0)
    shortfalls.push('the naive arm lost nothing: the faults were too weak');
  shortfalls.push(...missedFaults(evidence.minutes, evidence).map((fault) => `no ${fault} took effect`));
  return shortfalls;
}

function repeated(texts: readonly string[]): string[] {
  return [...Map.groupBy(texts, (text) => text)]
    .filter(([, list]) => list.length > 1)
    .map(([text, list]) => `${text}: ${list.length} times`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
