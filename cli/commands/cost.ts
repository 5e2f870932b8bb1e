/** `leasehold cost`: estimates everything that is billed for a queue, and how large it has to be. Sends no request: it is arithmetic. */
import { Command, Option } from 'commander';
import type { Estimate } from '../../shared/operate/cost/estimate.ts';
import { estimateCost, sizeOfJson } from '../../shared/operate/cost/estimate.ts';
import type { Architecture, Part } from '../../shared/operate/cost/prices.ts';
import { NOT_LOOKED_UP, PRICES } from '../../shared/operate/cost/prices.ts';
import type { VerbUnits } from '../../shared/operate/cost/verb-units.ts';
import type { Figure, Workload } from '../../shared/operate/cost/workload.ts';
import { DEFAULT_WORKLOAD, FIGURES } from '../../shared/operate/cost/workload.ts';
import { amount, jsonInput, wholeNumber } from '../arguments.ts';
import type { Bind, Context } from '../context.ts';
import { factsOf, plural, tableOf } from '../output.ts';

type Options = Omit<Workload, 'architecture'> & { readonly architecture: Architecture; readonly input?: unknown };

export function costCommand(bind: Bind): Command {
  const command = new Command('cost')
    .summary('estimate the cost of a queue')
    .description(
      'Estimates units and everything that is billed, compares it with SQS and Step Functions, and names the first limit you will reach.',
    );
  for (const [figure, [byDefault, { least, most, isWhole }, what]] of Object.entries<Figure>(FIGURES)) {
    const parse = isWhole ? wholeNumber(least, most) : amount(least);
    command.addOption(new Option(`--${dashed(figure)} <n>`, what).argParser(parse).default(byDefault));
  }
  command.addOption(
    new Option('--architecture <name>', 'of the workers')
      .choices(['arm64', 'x86_64'])
      .default(DEFAULT_WORKLOAD.architecture),
  );
  command.addOption(
    new Option('--input <json>', 'an example of an input, to measure in place of --input-bytes and --deflated-share')
      .argParser(jsonInput)
      .conflicts(['inputBytes', 'deflatedShare']),
  );
  command.addOption(new Option('--tracing', 'with X-Ray').default(false));
  command.addOption(new Option('--no-alarms', 'without the alarms'));
  command.addOption(new Option('--no-dashboard', 'without the dashboard'));
  return bind<Options>(command.addHelpText('after', HELP), cost);
}

async function cost({ output }: Context, options: Options): Promise<void> {
  const estimate = estimateCost(workloadOf(options), PRICES);
  output.answer({ ...estimate, prices: PRICES }, () => estimateText(estimate));
}

/** Options carry the command's own as well. */
function workloadOf(options: Options): Workload {
  const figures = Object.keys(DEFAULT_WORKLOAD).map((figure) => [figure, options[figure as keyof Workload]] as const);
  const workload: Readonly<Record<string, unknown>> = Object.fromEntries(figures);
  const { input } = options;
  return { ...(workload as unknown as Workload), ...(input === undefined ? {} : sizeOfJson(input)) };
}

function estimateText(estimate: Estimate): string {
  return [
    unitsText(estimate),
    partsText(estimate),
    idleText(estimate),
    besideText(estimate),
    standingText(estimate),
    capacityText(estimate),
    limitsText(estimate),
  ].join('\n\n');
}

function unitsText({ verbs, workload, writeUnitsPerTask, readUnitsPerTask }: Estimate): string {
  const { commitItems } = workload;
  const settle: readonly [string, VerbUnits] =
    commitItems > 0 ? ['commit', verbs.commit] : ['complete', verbs.complete];
  const rows: Rows = [
    ['enqueue', verbs.enqueue],
    ['claim', verbs.claim],
    settle,
    ...(workload.refusedCommitsPerTask > 0 ? ([['refused commit', verbs.refusedCommit]] as const) : []),
    ['retry', verbs.retry],
    ['refused claim', verbs.refusedClaim],
    ...(verbs.removePayload.total > 0 ? ([['remove the input', verbs.removePayload]] as const) : []),
    ['heartbeat', verbs.heartbeat],
  ];
  const table = tableOf(
    ['write units', 'table', 'ready index', 'together'],
    rows.map(([verb, units]) => [verb, ...[units.table, units.readyIndex, units.total].map(String)]),
  );
  return `${table}\na task: ${round(writeUnitsPerTask)} write units, ${round(readUnitsPerTask)} read units`;
}

type Rows = readonly (readonly [string, VerbUnits])[];

function partsText(estimate: Estimate): string {
  const { parts, dollarsPerMonth, dollarsPerMonthAfterFree, dollarsPerMillionTasks } = estimate;
  const rows = parts.map((part) => [
    part.what,
    `${large(part.perMonth)} ${part.unit}`,
    `${priceText(part.price)}${markOf(part)}`,
    money(part.dollars),
    money(part.dollarsAfterFree),
  ]);
  const table = tableOf(
    ['a month', 'amount', 'price', 'dollars', 'after the free tier'],
    [...rows, ['together', '', '', money(dollarsPerMonth), money(dollarsPerMonthAfterFree)]],
  );
  return (
    `${table}\na million tasks: ${money(dollarsPerMillionTasks)}. List prices of ${PRICES.region}, read in ${datesOf(parts)}; ` +
    '* not looked up, so check it before you rely on it. The free tier is that of an account in which nothing else runs'
  );
}

function markOf({ by }: Part): string {
  return PRICES.of[by].asOf === NOT_LOOKED_UP ? ' *' : '';
}

function datesOf(parts: readonly Part[]): string {
  const dates = new Set<string>(parts.map(({ by }) => PRICES.of[by].asOf));
  dates.delete(NOT_LOOKED_UP);
  return [...dates].sort().join(', ');
}

function idleText({ idle: { first, further, dashboard } }: Estimate): string {
  return tableOf(
    ['an empty queue, a month', 'dollars', 'after the free tier'],
    [
      ['the first of a table', money(first.dollars), money(first.dollarsAfterFree)],
      ['each further one', money(further.dollars), ''],
      ['the dashboard of the table', money(dashboard.dollars), money(dashboard.dollarsAfterFree)],
    ],
  );
}

function besideText({ beside, dollarsPerMonth, dollarsPerMonthAfterFree }: Estimate): string {
  const ours = {
    what: 'Leasehold, all of the above',
    dollars: dollarsPerMonth,
    dollarsAfterFree: dollarsPerMonthAfterFree,
  };
  return tableOf(
    ['the same tasks, a month', 'dollars', 'after the free tier'],
    [ours, ...beside].map(({ what, dollars, dollarsAfterFree }) => [what, money(dollars), money(dollarsAfterFree)]),
  );
}

function standingText({ standing, workload }: Estimate): string {
  const { empty, trickle, asGiven } = standing;
  const loads = [empty, trickle, asGiven];
  const kinds = Object.keys(empty.dollars) as (keyof typeof empty.dollars)[];
  const rows = kinds.map((what) => [what, ...loads.map(({ dollars }) => money(dollars[what]))]);
  const table = tableOf(
    ['the queue itself, a month', 'empty', 'a task a minute', `${large(workload.tasksPerDay)} tasks a day`],
    [...rows, ['together', ...loads.map(({ dollarsPerMonth }) => money(dollarsPerMonth))]],
  );
  return (
    `${table}\npart of the sums above that is not tasks and their compute: polls, functions and sessions. ` +
    "An empty look costs half a read unit. 'wakeOnEnqueue: false' leaves out wakes, and tasks wait for ticks"
  );
}

function capacityText({
  tasksPerSecondAtPeak,
  tasksInFlightAtPeak,
  workersAtPeak,
  shardsNeeded,
  workload,
  burst,
}: Estimate): string {
  return factsOf([
    ['at the peak', `${round(tasksPerSecondAtPeak)} tasks a second, ${round(tasksInFlightAtPeak)} at work at once`],
    [
      'workers needed',
      `${workersAtPeak.toLocaleString('en-US')}, with ${plural(workload.concurrency, 'task')} side by side in each`,
    ],
    ['shards needed', String(shardsNeeded)],
    [
      `${large(burst.tasks)} tasks at once`,
      `start ${plural(burst.workers, 'worker')}${burst.missing > 0 ? `, and ${burst.missing} more if maxWorkers allowed it` : ''}; ` +
        `the last task begins ${round(burst.lastBeginsAfterSeconds)} s after they have started; ${money(burst.dollars)}`,
    ],
  ]);
}

function limitsText({ limits }: Estimate): string {
  const rows = limits.map(({ what, atTasksPerDay, used, remedy }) => [
    what,
    `${large(atTasksPerDay)} tasks a day`,
    `${round(used * 100)} %`,
    used > 1 ? remedy : '',
  ]);
  const [first] = limits;
  const verdict =
    first === undefined
      ? ''
      : `\nthe first to bite: ${first.what}, ${first.used > 1 ? 'EXCEEDED' : `at ${large(first.atTasksPerDay)} tasks a day`}; ` +
        `then ${first.remedy}`;
  return tableOf(['limit', 'met at', 'used', 'so'], rows) + verdict;
}

/** Small ones by the million. */
function priceText(price: number): string {
  const isSmall = price < 0.01;
  const digits = { maximumSignificantDigits: 6 } as const;
  return `$${(isSmall ? price * 1e6 : price).toLocaleString('en-US', digits)} ${isSmall ? 'a million' : 'each'}`;
}

function money(dollars: number): string {
  if (dollars < 0.01 && dollars > 0) return `$${dollars.toFixed(4)}`;
  return `$${dollars.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

function round(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: value >= 1000 ? 4 : 3 });
}

function large(value: number): string {
  return value.toLocaleString('en-US', { notation: 'compact', maximumSignificantDigits: 3 });
}

function dashed(figure: string): string {
  return figure.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

const HELP = `
The arithmetic is that of the tests: rows as the statements write them, sized and rounded as DynamoDB does.
'npm run bench -- units' compares it with an engine.

Examples:
  $ leasehold cost --tasks-per-day 1e6 --seconds-per-task 2
  $ leasehold cost --tasks-per-day 1e8 --seconds-per-task 0.2 --peak-factor 5 --concurrency 50 --shards 32 --max-workers 200
  $ leasehold cost --input "$(cat event.json)"
  $ leasehold cost --commit-items 2 --json | jq .dollarsPerMillionTasks`;
