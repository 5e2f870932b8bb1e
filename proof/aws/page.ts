/** The page of one run's evidence: every figure in it comes from the JSON file. */
import type { Evidence, PartName } from '../../bench/evidence.ts';
import { PART_NAMES } from '../../bench/evidence.ts';
import { percentile } from '../../bench/figures.ts';

const TITLES: Readonly<Record<PartName, string>> = {
  tasks: 'Tasks, some of which end their worker',
  indexLag: 'From a write to the index',
  stream: 'From an enqueue to the first line of a reader of the stream',
  starts: 'From an asynchronous invocation to the first line',
  clocks: 'Clocks after freezes',
  units: 'Units by verb, where they are not as modelled',
  signatures: 'Signatures',
  copies: 'Copies of a transaction',
  throttles: 'Throttles of one index partition, by second',
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
  const measured = 'verbs' in part.measured ? part.measured.verbs.filter(isUnlikeModel) : part.measured;
  return `\`\`\`json\n${JSON.stringify(measured, spread, 1)}\n\`\`\``;
}

interface Charged {
  readonly writes: number;
  readonly writesByModel: number;
  readonly reads: number;
  readonly readsByModel: number;
}

function isUnlikeModel({ writes, writesByModel, reads, readsByModel }: Charged): boolean {
  return writes !== writesByModel || reads !== readsByModel;
}

/** Of samples, their number and their percentiles. */
function spread(_name: string, value: unknown): unknown {
  if (!Array.isArray(value) || value.some((sample) => typeof sample !== 'number')) return value;
  const [p50, p90, p99, most] = [0.5, 0.9, 0.99, 1].map((share) => Math.round(percentile(value as number[], share)));
  return { samples: value.length, p50, p90, p99, most };
}
