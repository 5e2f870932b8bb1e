/** The page of one run's evidence: every figure in it comes from the JSON file. */
import type { Evidence, Measured, PartName } from '../../bench/evidence.ts';
import { PART_NAMES } from '../../bench/evidence.ts';
import { percentile } from '../../bench/figures.ts';

const TITLES: Readonly<Record<PartName, string>> = {
  tasks: 'Tasks, some of which end their worker',
  indexLag: 'From a write to the index',
  stream: 'From an enqueue to the first line of a reader of the stream',
  starts: 'From an asynchronous invocation to the first line',
  clocks: 'Clocks after freezes',
  units: 'Units by verb',
  signatures: 'Signatures',
  copies: 'Copies of a transaction',
  throttles: 'Throttles of one index partition',
};

const TEXTS: { readonly [Name in PartName]: (measured: Measured<Name>) => string } = {
  tasks: ({ tasks, waves, killed, once, twice, lost, attempts }) =>
    [
      `Of ${n(tasks)} tasks, ${n(once)} took effect once, ${n(twice)} more than once, and ${n(lost)} not at all.`,
      `Waves: ${waves.map((wave) => `${n(wave.tasks)} tasks in ${wave.seconds} s`).join(', ')}.`,
      `Tasks that ended their worker: ${counts(killed)}. Tasks by the attempt that completed them: ${counts(attempts)}.`,
    ].join('\n'),
  indexLag: ({ ready, directory }) => spreads({ ready, directory }),
  stream: ({ toFirstLine }) =>
    `${spreads({ 'to the first line': toFirstLine })}\n\nTwo functions' clocks are compared, so differences of a few milliseconds mean nothing.`,
  starts: ({ cold, warm }) => spreads({ cold, warm }),
  clocks: ({ rounds }) =>
    table(
      ['frozen', 'same environment', 'wall clock gained', "the service's clock is ahead by"],
      rounds.map((round) => [
        `${round.frozenSeconds} s`,
        round.sameEnvironment ? 'yes' : 'no',
        `${ms(round.wallAheadMs)} over the monotonic clock`,
        `${ms(round.leastAheadMs)} to ${ms(round.mostAheadMs)}`,
      ]),
    ),
  units: ({ verbs }) => {
    const differing = verbs.filter((one) => one.writes !== one.writesByModel || one.reads !== one.readsByModel);
    const summary = `${verbs.length} verbs; ${verbs.length - differing.length} are charged what our model says.`;
    if (differing.length === 0) return summary;
    const rows = differing.map((one) => [
      `\`${one.verb}\``,
      ...[one.requests, one.writes, one.writesByModel, one.reads, one.readsByModel].map(String),
    ]);
    return `${summary}\n\n${table(['verb', 'requests', 'writes', 'model', 'reads', 'model'], rows)}`;
  },
  signatures: ({ requests, unverified, otherFaults, unverifiedAfterRotation, request, dated }) =>
    [
      `Of ${n(requests)} requests, the service refused the signature of ${n(unverified)}; ${n(otherFaults)} failed otherwise.`,
      `Of 20 requests by two roles in turn, ${n(unverifiedAfterRotation)} were refused.`,
      `Signed in the past: ${dated.map(({ minutesBack, outcome }) => `${minutesBack} min: ${outcome}`).join(', ')}.`,
      '',
      spreads({ 'one read': request }),
    ].join('\n'),
  copies: ({ applied, canceled }) =>
    table(
      ['transaction', 'first', 'the same bytes again', 'effects in the row'],
      Object.entries({ applied, 'canceled, then its condition came true': canceled }).map(([what, one]) => [
        ...[what, one.first, one.again, String(one.effects)],
      ]),
    ),
  throttles: ({ verb, perSecond, reasons }) => {
    const last = perSecond.findLastIndex(({ throttled }) => throttled > 0) + 1;
    const sum = perSecond.reduce((total, { throttled }) => total + throttled, 0);
    return [
      `\`${verb}\`, by second: ${perSecond.map(({ sent, throttled }) => `${throttled} of ${sent}`).join(', ')}.`,
      sum === 0 ? 'None was throttled.' : `The last throttle came in second ${last}. Reasons: ${counts(reasons)}.`,
    ].join('\n');
  },
};

export function pageOf(evidence: Evidence): string {
  const { at, region, commit, platform } = evidence;
  const sections = PART_NAMES.map((name) => `## ${TITLES[name]}\n\n${textOf(evidence, name)}`);
  const where = platform === 'aws' ? `AWS, ${region}` : 'an emulator: nothing here is about AWS';
  return `# Evidence of ${at.slice(0, 10)}\n\nBy \`npm run aws\` at commit ${commit}, on ${where}. Times are in milliseconds.\n\n${sections.join('\n\n')}\n`;
}

function textOf({ parts }: Evidence, name: PartName): string {
  const part = parts[name];
  if (part.status !== 'measured') return `${part.status === 'failed' ? 'Failed' : 'Unsupported'}: ${part.why}.`;
  return (TEXTS[name] as (measured: unknown) => string)(part.measured);
}

function spreads(values: Readonly<Record<string, readonly number[]>>): string {
  const shares = [0.5, 0.9, 0.99, 1];
  return table(
    ['', 'samples', 'p50', 'p90', 'p99', 'most'],
    Object.entries(values).map(([name, some]) => [
      ...[name, n(some.length)],
      ...shares.map((share) => String(Math.round(percentile(some, share)))),
    ]),
  );
}

function counts(values: Readonly<Record<string, number>>): string {
  const all = Object.entries(values).map(([name, value]) => `${name} ${n(value)}`);
  return all.length === 0 ? 'none' : all.join(', ');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function n(value: number): string {
  return value.toLocaleString('en-US');
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}
