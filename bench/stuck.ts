/**
 * `npm run bench -- stuck` measures the cost of tasks whose keys are always full, and how long plain tasks wait meanwhile.
 *
 * Another live session runs one task of each key all the time. The other tasks of the key wait, and some of them are due later.
 * A standing worker polls the eight shards of the queue, which gets a plain task every five seconds. Time is simulated.
 * Only requests of the standing worker count. Exits with 1 if a figure is above its bound. The bounds are for one key.
 * A task that becomes due is moved to the others of its key once, so minutes count as later ones once the last task in backoff is due.
 */
import { Command } from 'commander';
import { noSkewGauge } from '../shared/core/lease/skew.ts';
import { stampOf } from '../shared/core/lease/write.ts';
import type { MeterReading } from '../shared/dynamo/engine/meter.ts';
import { sessionTiming } from '../shared/core/lease/timing.ts';
import { SessionHolder } from '../shared/session/keep-alive.ts';
import { inFlight } from '../shared/core/runtime/in-flight.ts';
import { defineTask } from '../shared/tasks/task/definition.ts';
import { wholeNumber } from './arguments.ts';
import { percentile, print, round } from './figures.ts';
import type { IdleWorld } from './idle-world.ts';
import { IDLE_QUEUE, openIdleWorld } from './idle-world.ts';

interface Settings {
  readonly keys: number;
  readonly tasks: number;
  readonly backoff: number;
  readonly backoffMinutes: number;
  readonly inputKb: number;
  readonly minutes: number;
  readonly json: boolean;
}

interface Minute {
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly readUnitsPerSecond: number;
  readonly plainDone: number;
  /** Plain tasks that still wait at the end of the minute. */
  readonly plainLeft: number;
  /** Median of the done tasks. The maximum includes tasks that still wait. */
  readonly waitMs: { readonly p50: number; readonly most: number };
}

interface Figures {
  readonly perMinute: readonly Minute[];
  readonly writeUnits: number;
  /** The most of a minute that began after the last task in backoff was due. */
  readonly laterWriteUnitsPerMinute: number;
  readonly readUnitsPerSecond: number;
  readonly plainWaitMs: number;
}

const stuck = defineTask({ name: 'stuck', run: (_input: string) => undefined });

const WANTED = { writeUnits: 1_200, laterWriteUnitsPerMinute: 100, plainWaitMs: 1_000 };
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const PLAIN_EVERY_MS = 5_000;
const KB = 1_024;
const IN_FLIGHT = 64;
/** Has no common factor with 100, so tasks in backoff are spread over all keys. */
const BACKOFF_STRIDE = 37;

export async function run(argv: readonly string[]): Promise<number> {
  const settings = parse(argv);
  const figures = await measure(settings);
  const isMet = (Object.keys(WANTED) as (keyof typeof WANTED)[]).every((name) => figures[name] <= WANTED[name]);
  print({ ...settings, ...figures, isMet }, settings.json);
  return isMet ? 0 : 1;
}

async function measure(settings: Settings): Promise<Figures> {
  const idle = openIdleWorld();
  const { world, clock, runtime, client, meter } = idle;
  const waits: number[] = [];
  const waitingSince = new Set<number>();
  const plain = defineTask({
    name: 'plain',
    run({ enqueuedAt }: { enqueuedAt: number }) {
      waits.push(clock.now() - enqueuedAt);
      waitingSince.delete(enqueuedAt);
    },
  });
  return world.run(async () => {
    await idle.noteLanes('normal', 'normal groups');
    await using holder = await holderOf(idle);
    await fill(idle, holder.id, settings);
    const handBack = new AbortController();
    const standing = idle.stand({ stuck, plain }, handBack.signal);
    const perMinute: Minute[] = [];
    let last = meter.read();
    for (let minute = 0; minute < settings.minutes; minute++) {
      const until = clock.monotonic() + MINUTE_MS;
      while (clock.monotonic() < until) {
        await clock.sleep(Math.min(until - clock.monotonic(), (0.5 + runtime.random.next()) * PLAIN_EVERY_MS));
        const enqueuedAt = clock.now();
        waitingSince.add(enqueuedAt);
        await client.enqueue(plain, { enqueuedAt });
      }
      const now = meter.read();
      const left = [...waitingSince].map((enqueuedAt) => clock.now() - enqueuedAt);
      perMinute.push(minuteOf(last, now, { done: waits.splice(0), left }));
      last = now;
    }
    handBack.abort();
    await standing;
    return figuresOf(perMinute, settings);
  });
}

/** A live session whose process does not poll. Its requests are not counted. */
function holderOf({ runtime, stores }: IdleWorld): Promise<SessionHolder> {
  const timing = sessionTiming({ lockDelayMs: 0 });
  const options = { timing, name: 'holder', node: 'bench', behaviour: 'release' } as const;
  return SessionHolder.create(options, { store: stores.sessions, runtime, gauge: noSkewGauge });
}

/** Claims one task of each key for the holder's session, and enqueues the others. Delayed tasks represent tasks in backoff. */
async function fill(
  { runtime, stores, client }: IdleWorld,
  holder: string,
  { keys, tasks, backoff, backoffMinutes, inputKb }: Settings,
): Promise<void> {
  const input = 'x'.repeat(inputKb * KB);
  const keysOf = Array.from({ length: keys }, (_, n) => ({ key: `customer ${n}`, limit: 1 }));
  const first = await Promise.all(keysOf.map((key) => client.validate(stuck, input, key)));
  await client.enqueueAll(first, { inFlight: IN_FLIGHT });
  const run = inFlight(IN_FLIGHT);
  await Promise.all(
    first.map(({ id }) =>
      run(async () => {
        const task = await stores.tasks.get({ queue: IDLE_QUEUE, id });
        if (task?.state !== 'ready') throw new Error(`task ${id} should be ready`);
        const { kind } = await stores.tasks.claim(task, holder, stampOf(runtime));
        if (kind !== 'applied') throw new Error(`task ${id} should be claimed`);
      }),
    ),
  );
  const startAt = runtime.clock.now();
  const waiting = Array.from({ length: keys * (tasks - 1) }, (_, n) => {
    const isInBackoff = (n * BACKOFF_STRIDE) % 100 < backoff;
    const later = { delay: new Date(startAt + Math.round(runtime.random.next() * backoffMinutes * MINUTE_MS)) };
    return client.validate(stuck, input, { ...keysOf[n % keys], ...(isInBackoff ? later : {}) });
  });
  await client.enqueueAll(await Promise.all(waiting), { inFlight: IN_FLIGHT });
}

function minuteOf(
  before: MeterReading,
  after: MeterReading,
  { done, left }: { readonly done: readonly number[]; readonly left: readonly number[] },
): Minute {
  const readUnits = after.readUnits - before.readUnits;
  return {
    writeUnits: round(after.writeUnits - before.writeUnits),
    readUnits: round(readUnits),
    readUnitsPerSecond: round((readUnits * SECOND_MS) / MINUTE_MS),
    plainDone: done.length,
    plainLeft: left.length,
    waitMs: { p50: round(percentile(done, 0.5)), most: round(Math.max(0, ...done, ...left)) },
  };
}

function figuresOf(perMinute: readonly Minute[], { backoff, backoffMinutes }: Settings): Figures {
  const sum = (figure: (minute: Minute) => number): number =>
    perMinute.reduce((total, each) => total + figure(each), 0);
  return {
    perMinute,
    writeUnits: round(sum(({ writeUnits }) => writeUnits)),
    laterWriteUnitsPerMinute: Math.max(
      0,
      ...perMinute.slice(backoff === 0 ? 1 : backoffMinutes).map(({ writeUnits }) => writeUnits),
    ),
    readUnitsPerSecond: round(sum(({ readUnitsPerSecond }) => readUnitsPerSecond) / perMinute.length),
    plainWaitMs: Math.max(...perMinute.map(({ waitMs }) => waitMs.most)),
  };
}

function parse(argv: readonly string[]): Settings {
  return new Command('npm run bench -- stuck')
    .description(
      'Keys whose only slot does not become free: units of the worker, and the wait of plain tasks beside them.',
    )
    .option('--keys <n>', 'keys, each with a limit of 1', wholeNumber(1), 1)
    .option('--tasks <n>', 'tasks of each key; one of them runs all the time', wholeNumber(2), 1_000)
    .option('--backoff <percent>', 'of the waiting tasks that are due later', wholeNumber(0, 100), 33)
    .option('--backoff-minutes <n>', 'in which they become due', wholeNumber(1), 3)
    .option('--input-kb <n>', 'size of the input of each', wholeNumber(0), 0)
    .option('--minutes <n>', 'how long it is measured', wholeNumber(2), 5)
    .option('--json', 'one JSON object', false)
    .parse([...argv], { from: 'user' })
    .opts();
}
