/** The judgement of a run: pure, so that it can be tested with evidence that was tampered with. */
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import type { JournalLine } from './journal.ts';
import type { Arm } from './profile.ts';

/** Everything that a verdict rests on, gathered when the faults are over and the dust has settled. */
export interface Evidence {
  readonly acknowledged: readonly { readonly id: string; readonly arm: Arm }[];
  readonly rows: ReadonlyMap<string, TaskRecord>;
  /** How often the effect of a task took place, and the claim whose effect was the last. */
  readonly ledger: ReadonlyMap<string, { readonly commits: number; readonly token: number }>;
  /** The final content of each register. */
  readonly registers: ReadonlyMap<string, readonly string[]>;
  readonly journal: readonly JournalLine[];
  /** Errors by which invocations ended, by class, with an example. */
  readonly errors: ReadonlyMap<string, string>;
  /** Permits and sessions that are left when all workers have ended. */
  readonly leaks: { readonly permits: number; readonly sessions: number };
}

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

/** What was broken, with the cases that broke it; and what the naive arm lost or doubled, which shows that the faults were strong. */
export function judge(evidence: Evidence) {
  const grants = Map.groupBy(
    evidence.journal.filter((line) => line.kind === 'granted'),
    ({ key }) => key,
  );
  const violations = {
    'tasks lost (I15)': lostTasks(evidence),
    'done without their effect (I16)': missingEffects(evidence),
    'double effects (I16)': doubleEffects(evidence, 'fenced'),
    'acknowledged, then not so (I17)': brokenPromises(evidence),
    'duplicate tokens (I3)': repeated(
      evidence.journal.flatMap((line) => (line.kind === 'began' ? [`${line.task} token ${line.token}`] : [])),
    ),
    'tokens that went back (I3)': [...grants].flatMap(([key, list]) => tokensBackwards(key, list)),
    'acknowledged updates lost (I2b)': lostUpdates(evidence, 'fenced'),
    'two believed at once (I1)': beliefOverlaps(evidence, grants),
    'left behind at rest (L7)': Object.entries(evidence.leaks).flatMap(([what, count]) =>
      count === 0 ? [] : [`${count} ${what}`],
    ),
    'unexpected errors': unexpectedErrors(evidence),
  };
  const broken = Object.fromEntries(Object.entries(violations).filter(([, cases]) => cases.length > 0));
  const controlLosses = doubleEffects(evidence, 'naive').length + lostUpdates(evidence, 'naive').length;
  return { broken, controlLosses };
}

type Grant = Extract<JournalLine, { kind: 'granted' }>;

function lostTasks({ acknowledged, rows }: Evidence): string[] {
  return acknowledged.flatMap(({ id }) => {
    const state = rows.get(id)?.state ?? 'missing';
    return state === 'done' ? [] : [`${id} is ${state}`];
  });
}

function missingEffects({ acknowledged, rows, ledger }: Evidence): string[] {
  const done = acknowledged.filter(({ id, arm }) => arm === 'fenced' && rows.get(id)?.state === 'done');
  return done.map(({ id }) => id).filter((id) => !ledger.has(id));
}

function doubleEffects({ acknowledged, ledger }: Evidence, wanted: Arm): string[] {
  return acknowledged.flatMap(({ id, arm }) => {
    const commits = ledger.get(id)?.commits ?? 0;
    return arm === wanted && commits > 1 ? [`${id}: ${commits} times`] : [];
  });
}

function brokenPromises({ journal, ledger, rows }: Evidence): string[] {
  return journal.flatMap((line) => {
    if (line.kind !== 'committed' || line.arm !== 'fenced') return [];
    const effect = ledger.get(line.task)?.token;
    const row = rows.get(line.task);
    const isKept = effect === line.token && row?.state === 'done' && row.leaseCounter === line.token;
    const found = `the effect is of ${effect}, the row says ${row?.state} ${row?.leaseCounter}`;
    return isKept ? [] : [`${line.task}: token ${line.token} was acknowledged, ${found}`];
  });
}

/** A request that began after another's answer must have got a larger token. */
function tokensBackwards(key: string, grants: readonly Grant[]): string[] {
  const backwards = grants.flatMap(({ token, askedAt }) => {
    const largest = Math.max(...grants.filter(({ at }) => at < askedAt).map((grant) => grant.token), -Infinity);
    return largest >= token ? [`${key}: ${token} after ${largest}`] : [];
  });
  return [...repeated(grants.map(({ token }) => `${key} token ${token}`)), ...backwards];
}

function beliefOverlaps({ journal }: Evidence, grants: ReadonlyMap<string, readonly Grant[]>): string[] {
  return journal.flatMap((line) => {
    if (line.kind !== 'believed') return [];
    const next = grants.get(line.key)?.find((grant) => grant.token > line.token && grant.at < line.at);
    return next === undefined
      ? []
      : [`${line.key}: ${line.who} believed in ${line.token} at ${line.at}, granted ${next.token} at ${next.at}`];
  });
}

function lostUpdates({ journal, registers }: Evidence, wanted: Arm): string[] {
  return journal.flatMap((line) => {
    if (line.kind !== 'acknowledged' || line.arm !== wanted) return [];
    return registers.get(line.key)?.includes(line.element) === true ? [] : [`${line.key}: ${line.element}`];
  });
}

function unexpectedErrors({ errors, journal }: Evidence): string[] {
  const isExpected = (name: string, arm: Arm = 'fenced'): boolean =>
    EXPECTED_ERRORS.has(name) || (arm === 'naive' && EXPECTED_OF_NAIVE_CODE.has(name));
  const ofInvocations = [...errors].filter(([name]) => !isExpected(name));
  const ofHolders = journal.flatMap((line) =>
    line.kind === 'trouble' && !isExpected(line.error, line.arm) ? [`${line.error}: ${line.message}`] : [],
  );
  return [...ofInvocations.map(([name, example]) => `${name}: ${example}`), ...new Set(ofHolders)];
}

function repeated(texts: readonly string[]): string[] {
  return [...Map.groupBy(texts, (text) => text)]
    .filter(([, list]) => list.length > 1)
    .map(([text, list]) => `${text}: ${list.length} times`);
}
