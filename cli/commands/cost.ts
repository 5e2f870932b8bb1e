/** `leasehold cost`: estimates everything that is billed for a queue, and how large it has to be. Sends no request: it is arithmetic. */
import { Command, Option } from 'commander';
import type { Estimate } from '../../shared/operate/cost/estimate.ts';
import { estimateCost, sizeOfJson } from '../../shared/operate/cost/estimate.ts';
import type { Architecture, Part, Sum } from '../../shared/operate/cost/prices.ts';
import { NOT_LOOKED_UP, PRICES } from '../../shared/operate/cost/prices.ts';
import type { VerbUnits } from '../../shared/operate/cost/units.ts';
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
  command.addOption(new Option('--list-finished', 'with finished tasks listed').default(false));
  command.addOption(new Option('--no-alarms', 'without the alarms'));
  command.addOption(new Option('--no-dashboard', 'without the dashboard'));
  return bind<Options>(command.addHelpText('after', HELP), cost);
}

async function cost({ output }: Context, options: Options): Promise<void> {
  const estimate = estimateCost(workloadOf(options));
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
  const texts = [unitsText, partsText, idleText, alternativesText, standingText, capacityText, limitsText];
  return texts.map((text) => text(estimate)).join('\n\n');
}

function unitsText({ verbs, workload, writeUnitsPerTask, readUnitsPerTask }: Estimate): string {
  const { commitItems, refusedCommitsPerTask, steps, waits, callbacks } = workload;
  const rows: readonly (false | readonly [string, VerbUnits])[] = [
    ['enqueue', verbs.enqueue],
    ['claim', verbs.claim],
    commitItems > 0 ? ['commit', verbs.commit] : ['complete', verbs.complete],
    refusedCommitsPerTask > 0 && ['refused commit', verbs.refusedCommit],
    ['retry', verbs.retry],
    ['refused claim', verbs.refusedClaim],
    steps > 0 && [`step, of ${steps}`, verbs.step],
    waits > 0 && ['wait', verbs.wait],
    callbacks > 0 && ['callback', verbs.callback],
    verbs.removePayload.total > 0 && ['remove the input', verbs.removePayload],
    ['heartbeat', verbs.heartbeat],
  ];
  const table = tableOf(
    ['write units', 'table', 'ready index', 'together'],
    rows
      .filter((row) => row !== false)
      .map(([verb, units]) => [verb, ...[units.table, units.readyIndex, units.total].map(round)]),
  );
  return `${table}\na task: ${round(writeUnitsPerTask)} write units, ${round(readUnitsPerTask)} read units`;
}

function partsText(estimate: Estimate): string {
  const { parts, dollarsPerMonth, dollarsPerMonthAfterFree, dollarsPerMillionTasks } = estimate;
  const asOf = ({ by }: Part): string => PRICES.of[by].asOf;
  const rows = parts.map((part) => [
    part.what,
    `${large(part.perMonth)} ${part.unit}`,
    `${priceText(part.price)}${asOf(part) === NOT_LOOKED_UP ? ' *' : ''}`,
    ...both(part),
  ]);
  const together = { dollars: dollarsPerMonth, dollarsAfterFree: dollarsPerMonthAfterFree };
  const table = tableOf(
    ['a month', 'amount', 'price', 'dollars', 'after the free tier'],
    [...rows, ['together', '', '', ...both(together)]],
  );
  const dates = [...new Set(parts.map(asOf))].filter((date) => date !== NOT_LOOKED_UP).sort();
  return (
    `${table}\na million tasks: ${money(dollarsPerMillionTasks)}. List prices of ${PRICES.region}, read in ${dates.join(', ')}; ` +
    '* not looked up, so check it before you rely on it. The free tier is that of an account in which nothing else runs'
  );
}

function idleText({ idle: { first, further, dashboard } }: Estimate): string {
  return tableOf(
    ['an empty queue, a month', 'dollars', 'after the free tier'],
    [
      ['the first of a table', ...both(first)],
      ['each further one', money(further.dollars), ''],
      ['the dashboard of the table', ...both(dashboard)],
    ],
  );
}

function alternativesText({
  alternatives,
  dollarsPerMonth: dollars,
  dollarsPerMonthAfterFree: dollarsAfterFree,
}: Estimate): string {
  return tableOf(
    ['the same tasks, a month', 'dollars', 'after the free tier'],
    [{ what: 'Leasehold, all of the above', dollars, dollarsAfterFree }, ...alternatives].map((one) => [
      one.what,
      ...both(one),
    ]),
  );
}

function standingText({ standing: { empty, trickle, asGiven }, workload }: Estimate): string {
  const loads = [empty, trickle, asGiven];
  const kinds = Object.keys(empty.dollars) as (keyof typeof empty.dollars)[];
  const rows = kinds.map((what) => [what, ...loads.map(({ dollars }) => money(dollars[what]))]);
  const table = tableOf(
    ['the queue itself, a month', 'empty', 'a task a minute', `${large(workload.tasksPerDay)} tasks a day`],
    [...rows, ['together', ...loads.map(({ dollarsPerMonth }) => money(dollarsPerMonth))]],
  );
  return (
    `${table}\npart of the sums above that is not tasks and their compute: polls, functions and sessions. ` +
    "An empty poll costs half a read unit. 'wakeOnEnqueue: false' leaves out wakes, and tasks wait for ticks"
  );
}

function capacityText(estimate: Estimate): string {
  const { tasksPerSecondAtPeak, tasksInFlightAtPeak, workersAtPeak, shardsNeeded, workload, burst } = estimate;
  const workers = workersAtPeak.toLocaleString('en-US');
  const missing = burst.missing > 0 ? `, and ${burst.missing} more if maxWorkers allowed it` : '';
  return factsOf([
    ['at the peak', `${round(tasksPerSecondAtPeak)} tasks a second, ${round(tasksInFlightAtPeak)} at work at once`],
    ['workers needed', `${workers}, with ${plural(workload.concurrency, 'task')} at once in each`],
    ['shards needed', String(shardsNeeded)],
    [
      `${large(burst.tasks)} tasks at once`,
      `start ${plural(burst.workers, 'worker')}${missing}; ` +
        `the last task begins ${round(burst.lastBeginsAfterSeconds)} s after they have started; ${money(burst.dollars)}`,
    ],
  ]);
}

function limitsText({ limits }: Estimate): string {
  const tasksADay = ({ atTasksPerDay }: Estimate['limits'][number]): string => `${large(atTasksPerDay)} tasks a day`;
  const table = tableOf(
    ['limit', 'met at', 'used', 'so'],
    limits.map((one) => [one.what, tasksADay(one), `${round(one.used * 100)} %`, one.used > 1 ? one.remedy : '']),
  );
  const [first] = limits;
  if (first === undefined) return table;
  const met = first.used > 1 ? 'EXCEEDED' : `at ${tasksADay(first)}`;
  return `${table}\nthe first to bite: ${first.what}, ${met}; then ${first.remedy}`;
}

/** Small ones by the million. */
function priceText(price: number): string {
  const isSmall = price < 0.01;
  const digits = { maximumSignificantDigits: 6 } as const;
  return `$${(isSmall ? price * 1e6 : price).toLocaleString('en-US', digits)} ${isSmall ? 'a million' : 'each'}`;
}

function both({ dollars, dollarsAfterFree }: Sum): readonly [string, string] {
  return [money(dollars), money(dollarsAfterFree)];
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
