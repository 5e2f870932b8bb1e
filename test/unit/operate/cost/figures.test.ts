/** The whole estimate of the default workload, and what each figure of a workload changes in it. */
import { expect, test } from 'vitest';
import { estimateCost } from '../../../../shared/operate/cost/estimate.ts';
import type { FIGURES, Workload } from '../../../../shared/operate/cost/workload.ts';
import { DEFAULT_WORKLOAD } from '../../../../shared/operate/cost/workload.ts';

/** A second value of each figure. */
const OTHERS: Readonly<Record<keyof typeof FIGURES, number>> = {
  tasksPerDay: 20_000_000,
  secondsPerTask: 30,
  attemptsPerTask: 1.5,
  peakFactor: 5,
  inputBytes: 5_000,
  resultBytes: 3_000,
  commitItems: 3,
  refusedCommitsPerTask: 0,
  deflatedShare: 0.9,
  concurrency: 4,
  utilisation: 0.5,
  memoryMb: 1_024,
  heartbeatSeconds: 5,
  tickSeconds: 30,
  shards: 32,
  maxWorkers: 3,
  lingerSeconds: 20,
  refusedPerTask: 0.3,
  retentionDays: 30,
  burstTasks: 100_000,
  startWithinSeconds: 60,
  timedNames: 4,
};

type Line = readonly [path: string, text: string];

/** The parts of a value, by their paths; a record without records in it is one line. */
function linesOf(value: unknown, path: string): readonly Line[] {
  if (!isRecord(value)) return [[path, shown(value)]];
  const members = Array.isArray(value)
    ? value.map((element: { what?: string }, at) => [element.what ?? String(at), element] as const)
    : Object.entries(value).filter(([name]) => name !== 'what');
  if (members.some(([, member]) => isRecord(member)))
    return members.flatMap(([name, member]) => linesOf(member, path === '' ? name : `${path} / ${name}`));
  return [[path, members.map(([name, member]) => `${name} ${shown(member)}`).join(', ')]];
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(Number(value.toPrecision(6))) : String(value);
}

function estimateOf(changes: Partial<Workload>): ReadonlyMap<string, string> {
  const { workload: _, ...estimate } = estimateCost({ ...DEFAULT_WORKLOAD, ...changes });
  return new Map(linesOf(estimate, ''));
}

test('each figure changes what it should', async () => {
  const usual = estimateOf({});
  const changes: readonly Partial<Workload>[] = [
    ...Object.entries(OTHERS).map(([name, value]) => ({ [name]: value })),
    { commitItems: 2, refusedCommitsPerTask: 0.5 },
    { inputBytes: 900, resultBytes: 900 },
    { architecture: 'x86_64' },
    { alarms: !DEFAULT_WORKLOAD.alarms },
    { dashboard: !DEFAULT_WORKLOAD.dashboard },
    { tracing: !DEFAULT_WORKLOAD.tracing },
    { tasksPerDay: 10 },
  ];
  const told = changes.map((change) => {
    const changed = [...estimateOf(change)].filter(([path, text]) => usual.get(path) !== text);
    return [JSON.stringify(change), ...changed.map(([path, text]) => `  ${path}: ${text}`)].join('\n');
  });

  const whole = [...usual].map(([path, text]) => `  ${path}: ${text}`).join('\n');
  await expect(`the default\n${whole}\n${told.join('\n')}\n`).toMatchFileSnapshot('./figures.golden.txt');
});
