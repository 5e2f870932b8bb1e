/**
 * Cost of a task whose key has a limit: one key has the whole backlog, so nearly all of its tasks wait for a slot of the key.
 *
 * With `--ordered` the same backlog also waits in strict order.
 *
 * A row bears 1,000 write and 3,000 read units a second, as DynamoDB's do. Time is simulated, and every worker is a session, as in
 * `scale.ts`. Enqueuing is counted.
 */
import { Command } from 'commander';
import { defineTask } from '../shared/tasks/task/definition.ts';
import { KEY_LIMIT_MAX } from '../shared/tasks/task/key-limit.ts';
import { wholeNumber, wholeNumbers } from './arguments.ts';
import { drain } from './drain.ts';
import { print, round } from './figures.ts';
import { simulatedWorld } from './table.ts';

interface Settings {
  readonly tasks: number;
  readonly limits: readonly number[];
  readonly workers: number;
  readonly shards: number;
  readonly concurrency: number;
  readonly taskMs: number;
  readonly ordered?: boolean;
  readonly boundless?: boolean;
  readonly json?: boolean;
}

interface Measured {
  readonly limit: number | 'in order';
  readonly done: number;
  readonly tasksPerSecond: number;
  readonly transactionsPerTask: number;
  readonly writeUnitsPerTask: number;
  readonly readUnitsPerTask: number;
  readonly claimsRefused: number;
}

const ENQUEUES_IN_FLIGHT = 64;
/** Verbs of keyed tasks that always take a transaction. */
const TRANSACTIONS = ['task.claim', 'task.complete', 'task.retry', 'task.release'];

export async function run(argv: readonly string[]): Promise<number> {
  const settings = parse(argv);
  const rows: Measured[] = [];
  for (const limit of settings.limits) rows.push(await measure(settings, limit));
  if (settings.ordered === true) rows.push(await measure(settings, 'in order'));
  print({ tasks: settings.tasks, limits: rows }, settings.json);
  return rows.every(({ done }) => done === settings.tasks) ? 0 : 1;
}

async function measure(
  { tasks, workers, shards, concurrency, taskMs, boundless = false }: Settings,
  limit: Measured['limit'],
): Promise<Measured> {
  const world = simulatedWorld({ writeUnits: !boundless, readUnits: !boundless });
  const { clock } = world.placeOf('task code').runtime;
  const ends: number[] = [];
  const noop = defineTask({
    name: 'noop',
    async run() {
      if (ends.length === 0) ends.push(clock.monotonic());
      if (taskMs > 0) await clock.sleep(taskMs);
      ends.push(clock.monotonic());
    },
  });
  const queue = limit === 'in order' ? 'keys-in-order' : `keys-${limit}`;
  const options = { key: 'customer', ...(limit === 'in order' ? { ordered: true } : { limit }) };
  const { cost, done, claimsRefused } = await drain(
    world,
    { queue, shards, workers, concurrency, pollMs: 1_000 },
    { noop },
    async (client) => {
      const valid = Array.from({ length: tasks }, () => client.validate(noop, {}, options));
      await client.enqueueAll(await Promise.all(valid), { inFlight: ENQUEUES_IN_FLIGHT });
    },
  );
  const transactions = TRANSACTIONS.reduce((sum, verb) => sum + (cost.byVerb[verb]?.requests ?? 0), 0);
  return {
    limit,
    done,
    // From the first one's beginning to the last one's end: workers may stay for a moment.
    tasksPerSecond: round((1_000 * tasks) / ((ends.at(-1) ?? 0) - (ends[0] ?? 0))),
    transactionsPerTask: round(transactions / tasks),
    writeUnitsPerTask: round(cost.writeUnits / tasks),
    readUnitsPerTask: round(cost.readUnits / tasks),
    claimsRefused,
  };
}

function parse(argv: readonly string[]): Settings {
  return new Command('npm run bench -- keys')
    .description('One key that has the whole backlog: tasks a second, transactions and units a task, by its limit.')
    .option('--tasks <n>', 'backlog', wholeNumber(1), 10_000)
    .option('--limits <list>', `limits of the key, up to ${KEY_LIMIT_MAX}, separated by commas`, wholeNumbers, [1, 100])
    .option('--workers <n>', 'workers', wholeNumber(1), 16)
    .option('--shards <n>', 'shards of the queue', wholeNumber(1), 16)
    .option('--concurrency <n>', 'tasks at a time in each worker', wholeNumber(1), 10)
    .option('--task-ms <n>', 'how long a task takes', wholeNumber(0), 20)
    .option('--ordered', 'also in strict order')
    .option('--boundless', 'in a table whose rows bear any number of units a second, to compare designs')
    .option('--json', 'one JSON object')
    .parse([...argv], { from: 'user' })
    .opts<Settings>();
}
