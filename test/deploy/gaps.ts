/**
 * Properties that the deployment test did not show, because the emulator differs from AWS:
 * probed if a probe exists, and always reported.
 */
import type { PartName } from '../../bench/evidence.ts';
import { METRIC, METRICS_NAMESPACE } from '../../functions/metric-names.ts';
import type { Deployed } from './deployed.ts';
import type { Emulator } from './emulator.ts';
import { DEADLINE_MARGIN_MS, WORKER_TIMEOUT_MS } from './settings.ts';

interface Gap {
  readonly what: string;
  /** Answers whether the emulator does as AWS does. */
  readonly ask?: (deployed: Deployed, emulator: Emulator) => Promise<boolean>;
  readonly instead: string;
  /** Parts of the evidence from AWS that the emulator can only rehearse. */
  readonly evidence?: readonly PartName[];
}

const GAPS: readonly Gap[] = [
  {
    what: 'remaining time of an invocation',
    ask: async (deployed) => {
      const task = await deployed.leasehold.tasks.get('probe');
      const remainingMs = task?.state === 'done' ? (task.result as { remainingMs: number }).remainingMs : NaN;
      return remainingMs > 0 && remainingMs <= WORKER_TIMEOUT_MS - DEADLINE_MARGIN_MS;
    },
    instead: 'the local platform tests deadlines',
  },
  {
    what: 'metrics made of the log lines that carry them',
    ask: async (_deployed, emulator) => {
      const found = await emulator.call('monitoring', 'GraniteServiceVersion20100801.ListMetrics', {
        Namespace: METRICS_NAMESPACE,
        MetricName: METRIC.tasksCompleted,
      });
      return Array.isArray(found.Metrics) && found.Metrics.length > 0;
    },
    instead: 'the lines themselves are read, and a test compares their names and dimensions with the alarms',
  },
  {
    what: 'old environments that go on while new ones begin',
    instead: 'one goes on in a process of ours, from the old bundle',
  },
  {
    what: 'a restore to a moment in the past',
    instead: 'it copies the table as it is now: queues are paused first, so nothing was done since',
  },
  {
    what: 'capacity units',
    instead: 'asserted for each verb on DynamoDB Local, against our own model',
    evidence: ['units'],
  },
  {
    what: 'latencies of indexes, of the stream and of starts; environments that are frozen',
    instead: 'simulation assumes them; the local platform freezes processes',
    evidence: ['indexLag', 'stream', 'starts', 'clocks'],
  },
  {
    what: 'signatures and their dates',
    instead: 'unit tests compare them with those of the SDK',
    evidence: ['signatures'],
  },
  { what: 'the scheduled time in a schedule’s input', instead: 'test/deploy/emulator.py replaces it' },
  {
    what: 'dynamodb:LeadingKeys in policies',
    instead: 'test/deploy/emulator.py fills it; the permission matrix judges the rest',
  },
  { what: 'alarms on expressions of metrics', instead: 'deployed as an alarm on their first metric' },
  { what: 'the schedule’s role, retries and dead letters', instead: 'template assertions' },
  {
    what: 'throttling, transaction conflicts, sweeping by TTL at AWS’s pace',
    instead: 'simulation injects them',
    evidence: ['throttles'],
  },
  { what: 'X-Ray, arm64', instead: 'functions run on the machine’s own Node and processor' },
];

export async function printGaps(deployed: Deployed, emulator: Emulator): Promise<string> {
  const lines = await Promise.all(
    GAPS.map(async ({ what, ask, instead }) => {
      const answer =
        ask === undefined ? 'not supported' : (await ask(deployed, emulator)) ? 'supported' : 'not supported (asked)';
      return answer === 'supported' ? `\n      ${what}: supported` : `\n      ${what}: ${answer}; ${instead}`;
    }),
  );
  return lines.join('');
}

/** Parts of the evidence that would say nothing about AWS. */
export const UNSUPPORTED_PARTS: readonly PartName[] = GAPS.flatMap(({ evidence = [] }) => evidence);
