/**
 * `npm run bench -- creep`: index queries a second of a long-lived worker that gets tasks at a steady rate.
 *
 * A worker must not poll more often the longer it has been fed. Time is simulated; eight shards of one lane, ten tasks at a time.
 * Exits with 1 if the rate of queries is above the bound, or differs between the first and the last span by more than a tenth.
 */
import Table from 'cli-table3';
import { Command } from 'commander';
import type { MeterReading } from '../shared/dynamo/engine/meter.ts';
import { defineTask } from '../shared/tasks/task/definition.ts';
import { wholeNumber } from './arguments.ts';
import { openIdleWorld } from './idle-world.ts';

interface Settings {
  readonly minutes: number;
  readonly perSecond: number;
  readonly json: boolean;
}

interface Span {
  readonly untilSeconds: number;
  readonly queriesPerSecond: number;
  readonly readUnitsPerTask: number;
  readonly done: number;
}

const SPAN_SECONDS = 30;
const WANTED = { queriesPerSecond: 20, drift: 0.1 };

export async function run(argv: readonly string[]): Promise<number> {
  const settings = parse(argv);
  const spans = await measure(settings);
  const [first, last] = [spans[0]?.queriesPerSecond ?? NaN, spans.at(-1)?.queriesPerSecond ?? NaN];
  const most = Math.max(...spans.map(({ queriesPerSecond }) => queriesPerSecond));
  const isMet = most <= WANTED.queriesPerSecond && Math.abs(last / first - 1) <= WANTED.drift;
  console.log(settings.json ? JSON.stringify({ ...settings, spans, isMet }) : tableOf(spans));
  return isMet ? 0 : 1;
}

async function measure({ minutes, perSecond }: Settings): Promise<readonly Span[]> {
  const idle = openIdleWorld();
  const { world, clock, runtime, client, meter } = idle;
  const quick = defineTask({ name: 'quick', run: () => undefined });
  return world.run(async () => {
    await idle.noteLanes('normal');
    const handBack = new AbortController();
    const standing = idle.stand({ quick }, handBack.signal);
    const spans: Span[] = [];
    let last = meter.read();
    for (let seconds = SPAN_SECONDS; seconds <= 60 * minutes; seconds += SPAN_SECONDS) {
      for (let n = 0; n < SPAN_SECONDS * perSecond; n++) {
        await clock.sleep((0.5 + runtime.random.next()) * (1_000 / perSecond));
        void client.enqueue(quick, null);
      }
      const now = meter.read();
      spans.push(between(last, now, seconds));
      last = now;
    }
    handBack.abort();
    await standing;
    return spans;
  });
}

function between(before: MeterReading, after: MeterReading, untilSeconds: number): Span {
  const requestsOf = (verb: string): number =>
    (after.byVerb[verb]?.requests ?? 0) - (before.byVerb[verb]?.requests ?? 0);
  const done = requestsOf('task.complete');
  const queries = requestsOf('task.page') + requestsOf('task.pageOfGroups');
  return {
    untilSeconds,
    done,
    queriesPerSecond: round(queries / SPAN_SECONDS),
    readUnitsPerTask: round((after.readUnits - before.readUnits) / Math.max(1, done)),
  };
}

function tableOf(spans: readonly Span[]): string {
  const head = ['until second', 'index queries/s', 'read units a task', 'done'];
  const style = { head: [], border: [], compact: true };
  const table = new Table({ head, style, colAligns: head.map(() => 'right') });
  for (const { untilSeconds, queriesPerSecond, readUnitsPerTask, done } of spans)
    table.push([untilSeconds, queriesPerSecond, readUnitsPerTask, done]);
  return table.toString();
}

function round(figure: number): number {
  return Math.round(figure * 100) / 100;
}

function parse(argv: readonly string[]): Settings {
  return new Command('npm run bench -- creep')
    .description('Index queries a second of a worker that gets tasks at a steady rate, for each half minute.')
    .option('--minutes <n>', 'how long it gets tasks', wholeNumber(1), 5)
    .option('--per-second <n>', 'tasks a second', wholeNumber(1), 20)
    .option('--json', 'one JSON object instead of a table', false)
    .parse([...argv], { from: 'user' })
    .opts();
}
