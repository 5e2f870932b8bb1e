/** Tables and figures of the documents that are generated from the code; `test/infra/operating-guide.test.ts` has the tables of alarms. */
import { globSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { documentedBytes, EVENTS } from '../../bench/events.ts';
import { estimateCost, sizeOfJson } from '../../shared/operate/cost/estimate.ts';
import type { Workload } from '../../shared/operate/cost/workload.ts';
import { DEFAULT_WORKLOAD } from '../../shared/operate/cost/workload.ts';
import { NOT_LOOKED_UP, PRICES } from '../../shared/operate/cost/prices.ts';
import type { StandingKind, WorkerDays } from '../../shared/operate/cost/standing-cost.ts';
import {
  ALARM_METRICS,
  DAYS_PER_MONTH,
  METRICS_SENT,
  standingCostOf,
} from '../../shared/operate/cost/standing-cost.ts';
import { DEFAULT_SHARDS, INPUT_LIMIT_BYTES } from '../../shared/tasks/task/task.ts';
import { DEFAULT_TTL_MS } from '../../shared/core/lease/timing.ts';
import { documents, ROOT } from '../support/documents.ts';
import { expectMade, markdownTable, textOf } from '../support/made-blocks.ts';
import { unitsByVerb } from '../support/units-by-verb.ts';
import { unitsOfRest } from '../support/units-of-rest.ts';

const estimate = estimateCost(DEFAULT_WORKLOAD);
const units = await unitsByVerb();
const rest = await unitsOfRest();
/** From enqueue to task code: with a running worker, warm and cold. */
const MODELLED_FIGURE = /(?<![\d.,$])(?:285|357|770)(?![\d.,]*\d)/;
const dollars = (value: number): string =>
  `$${value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
const bytes = (value: number): string => `${Math.round(value).toLocaleString('en-US')} bytes`;
const amount = (value: number): string =>
  value.toLocaleString('en-US', { notation: 'compact', maximumSignificantDigits: 3 });

const isLarge = (part: { readonly dollars: number }): boolean => part.dollars >= 1;
const smallParts = estimate.parts.filter((part) => !isLarge(part));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const eventUnits = (Object.keys(EVENTS) as (keyof typeof EVENTS)[]).map((event) => {
  const size = sizeOfJson(EVENTS[event]);
  const shape = { ...DEFAULT_WORKLOAD, ...size, resultBytes: 0, refusedPerTask: 0 };
  const unitsAt = (deflatedShare: number): number => estimateCost({ ...shape, deflatedShare }).writeUnitsPerTask;
  return {
    event,
    inputBytes: size.inputBytes,
    deflatedBytes: size.inputBytes * size.deflatedShare,
    deflated: unitsAt(size.deflatedShare),
    asText: unitsAt(1),
  };
});

const MADE: Readonly<Record<string, () => string>> = {
  steps: () =>
    markdownTable(
      ['step', 'write units', 'why'],
      [
        ['enqueue', units.enqueue, 'the row, and its entry in the ready index'],
        ['claim', units.claim, 'the index entry does not move'],
        ['complete', units.complete, 'the row, and the removed entry'],
        [
          '**a task**',
          `**${units.enqueue + units.claim + units.complete}**`,
          'up to 1 KB of row; each further KB is one more unit in each step',
        ],
        [
          'commit with one write',
          `${units.commit} instead of ${units.complete}`,
          'a transaction costs twice: its own row and yours, and the entry',
        ],
        [
          'refused commit',
          `${units.bar} more`,
          'the refused writes are billed, and one write of the row bars late copies of them',
        ],
        ['retry', units.retry, 'the row, and the entry moves: out and in'],
        ['snooze', units.snooze, 'as retry'],
        ['dead', units.discard, 'the row, the removed entry, and an entry in the list of dead tasks'],
        [
          'the stack of a failed attempt',
          units.keepFailure,
          'its own row, so later writes of the task do not pay for it',
        ],
        ['release before the deadline', units.release, ''],
        ['progress', units.progress, ''],
        ['refused claim', units.refusedClaim, 'refused writes are billed; as much as reading ten rows'],
      ].map((cells) => cells.map(String)),
    ),
  events: () =>
    markdownTable(
      ['input', 'as documented', 'JSON', 'deflated', 'units a task', 'as text'],
      eventUnits.map(({ event, inputBytes, deflatedBytes, deflated, asText }) => [
        event,
        bytes(documentedBytes(event)),
        bytes(inputBytes),
        bytes(deflatedBytes),
        String(deflated),
        String(asText),
      ]),
    ),
  features: () => {
    const { enqueued, ended, spawnedLine } = rest.ordered;
    const costOf = (listFinished: boolean) => estimateCost({ ...DEFAULT_WORKLOAD, listFinished }).verbs;
    const [plain, listed] = [costOf(false), costOf(true)];
    return markdownTable(
      ['feature', 'additional write units'],
      [
        [
          'strict order within a key (`ordered`)',
          `enqueue ${enqueued - units.enqueue}, the end ${ended - units.complete}; spawned in a commit: ${spawnedLine} for the line`,
        ],
        [
          'a limit or rate per key (`key`, `limit`, `rate`)',
          "claim and end are transactions with the key's row; 3, once, if a delayed or retried task finds its key full",
        ],
        ['waiting for children (`waitFor`, `enqueueBatch`)', "each child's end is a transaction with the batch's row"],
        [
          `an input above ${INPUT_LIMIT_BYTES / 1024} KB`,
          '1 per KB, deflated, in a second row, which is written first, and 1 per KB when it is removed',
        ],
        [
          'finished tasks that are listed (`listFinished`)',
          `the end ${listed.complete.total - plain.complete.total}; ${listed.storedBytes - plain.storedBytes} bytes are stored`,
        ],
        ['a tenant', 'none'],
      ],
    );
  },
  rest: () => {
    const { session, lock, permits, group, token } = rest;
    const { tick, wake, start } = standingUnits();
    const perHour = 3_600_000 / (DEFAULT_TTL_MS / 3);
    const cycle = (one: { readonly acquire: number; readonly release: number }): number => one.acquire + one.release;
    return markdownTable(
      ['', 'units'],
      [
        [
          `a session: create ${session.create}, end ${session.end}`,
          `${session.create + session.end}, and ${estimate.verbs.heartbeat.total} for each heartbeat: at the default TTL ${perHour} an hour. With \`ttl: null\` a heartbeat is one read unit`,
        ],
        [
          `a lock: acquire ${lock.acquire}, release ${lock.release}; the first acquire of a key ${lock.new.acquire - lock.acquire} more, for its directory entry`,
          `${cycle(lock)} an uncontended cycle, ${cycle(lock.new)} with a new key, ${cycle(lock.unlisted)} with a new key and \`listed: false\`; ${lock.requests} requests; a waiter reads`,
        ],
        [
          `a semaphore's permit: acquire ${permits.acquire}, release ${permits.release}`,
          `${cycle(permits)}, up to ${permits.holders} holders; each further KB of row is one more unit in each; one "full" is ${permits.full}`,
        ],
        [
          'a wait group',
          `${group.perMember} a member and ${group.perRequest} a request to add, ${group.done} when it is done`,
        ],
        ['a token of a rate limit', String(token)],
        [
          'an idle queue',
          `the ticks: ${tick(DEFAULT_SHARDS)} read units with ${DEFAULT_SHARDS} shards, ${tick(DEFAULT_SHARDS + 1) - tick(DEFAULT_SHARDS)} for each more. A dispatcher queries each shard and two more, in each priority, with and without tenants, at half a unit each, and reads the queue's row and recurring tasks`,
        ],
        [
          'a wake, at most four a second',
          `${wake} read unit while workers are live, and every five seconds also the reads of a tick. If it starts one, ` +
            '3 and a write unit, and for more tasks than one worker runs at once the reads of a tick; and a write unit for each ' +
            'wake in the two seconds after a start, or while tasks come one by one: then a worker reads 2.5 units a second more',
        ],
        [
          'a worker that starts',
          `${start.writeUnits} for session and permit, and about ${start.readUnits} read units; a redundant worker exits after two reads`,
        ],
      ],
    );
  },
  prices: () =>
    [...Map.groupBy(Object.entries(PRICES.of), ([, { source }]) => source)]
      .map(([source, prices]) => {
        const each = prices.map(([name, price]) =>
          [
            `\`${name}\` $${price.dollars}`,
            price.per === 1 ? `a ${price.unit.replace(/s$/, '')}` : `for ${amount(price.per)} ${price.unit}`,
            ...(price.free === 0 ? [] : [`(${amount(price.free)} free)`]),
            price.asOf === NOT_LOOKED_UP ? '*' : `in ${price.asOf}`,
          ].join(' '),
        );
        return `- [${new URL(source).pathname.split('/')[1]}](${source}): ${each.join('; ')}`;
      })
      .join('\n'),
  bill: () =>
    markdownTable(
      ['a million tasks of a second each day, a month', 'dollars', 'after what is free'],
      [
        ...estimate.parts
          .filter(isLarge)
          .map((part) => [part.what, dollars(part.dollars), dollars(part.dollarsAfterFree)]),
        [
          'all smaller parts',
          dollars(sum(smallParts.map((part) => part.dollars))),
          dollars(sum(smallParts.map((part) => part.dollarsAfterFree))),
        ],
        [
          '**together**',
          `**${dollars(estimate.dollarsPerMonth)}**`,
          `**${dollars(estimate.dollarsPerMonthAfterFree)}**`,
        ],
        ...estimate.alternatives.map((other) => [other.what, dollars(other.dollars), dollars(other.dollarsAfterFree)]),
      ],
    ),
  watching: () => {
    const { first, further, dashboard } = estimate.idle;
    const { ofQueue, ofQueueInWaker, ofWaker } = ALARM_METRICS;
    return [
      `An empty queue sends ${METRICS_SENT.always} metric; hours with tasks add ${METRICS_SENT.withTasks}, and each name in \`timedNames\` ${METRICS_SENT.perTimedName}.`,
      `Its alarms read ${ofQueue + ofQueueInWaker} metrics, and the waker's alarms ${ofWaker} more, once a table.`,
      `With all alarms on, the first empty queue of a table costs ${dollars(first.dollars)} a month, each further one ${dollars(further.dollars)}, and the table's dashboard ${dollars(dashboard.dollars)}; in an account where nothing else runs, ${dollars(first.dollarsAfterFree)} and ${dollars(dashboard.dollarsAfterFree)}.`,
    ].join('\n');
  },
};

/** Units of a tick by shards, and of a wake and a start, by the estimate; `standing.full.test.ts` compares it with measurements. */
function standingUnits() {
  const workload = { ...DEFAULT_WORKLOAD, tasksPerDay: 0 };
  const standing = (what: StandingKind, shards: number, load: Partial<Workload & WorkerDays> = {}) => {
    const days = { startsPerDay: 0, workerSecondsPerDay: 0, ...load };
    return standingCostOf({ ...workload, shards, ...load }, estimate.verbs, days)[what];
  };
  const each = (total: number, times: number): number => Number((total / times).toFixed(3));
  const oneStart = { startsPerDay: 1 };
  const wakes = standing('wakes', DEFAULT_SHARDS, { tasksPerDay: 1 });
  return {
    tick: (shards: number): number => {
      const { readUnits, invocations } = standing('ticks', shards);
      return each(readUnits, invocations);
    },
    wake: each(wakes.readUnits, wakes.invocations),
    start: {
      writeUnits: each(
        standing('sessions and permits of workers', DEFAULT_SHARDS, oneStart).writeUnits,
        DAYS_PER_MONTH,
      ),
      readUnits: each(standing('polls of workers', DEFAULT_SHARDS, oneStart).readUnits, DAYS_PER_MONTH),
    },
  };
}

test('docs/cost.md says what the code says', () => expectMade('docs/cost.md', MADE));

test('no other document has generated blocks', () => {
  const withBlocks = documents().filter(({ text }) => text.includes('<!-- made:'));

  expect(withBlocks.map((document) => document.path)).toEqual(['docs/cost.md', 'docs/operating.md']);
});

describe('figures in sentences', () => {
  const { idle } = estimate;
  const perHour = 3_600_000 / (DEFAULT_TTL_MS / 3);

  test.each([
    ['README.md', `about $${estimate.dollarsPerMillionTasks.toFixed(1)}, all that is billed included`],
    [
      'README.md',
      `${(units.enqueue + units.claim + units.complete).toFixed(1)}: enqueue ${units.enqueue}, claim ${units.claim}, complete ${units.complete}`,
    ],
    [
      'README.md',
      `about ${Math.round(((idle.first.dollars + idle.dashboard.dollars) * 100) / 30 / 5) * 5} cents a day`,
    ],
    [
      'docs/which-limit.md',
      `${rest.lock.acquire} to acquire, ${rest.lock.release} to release; a new key ${rest.lock.new.acquire - rest.lock.acquire} more, unless \`listed: false\``,
    ],
    [
      'docs/which-limit.md',
      `${rest.permits.acquire} and ${rest.permits.release}, up to ${rest.permits.holders} holders; ${rest.permits.full} for a "full"`,
    ],
    ['docs/cost.md', `at the default TTL ${perHour} an hour`],
    ['docs/cost.md', `at the default TTL costs ${(24 * perHour).toLocaleString('en-US')} units a day`],
    ['bench/README.md', `\`leasehold cost\` estimates ${dollars(estimate.standing.trickle.dollarsPerMonth)}`],
  ])('%s has: %s', (document, sentence) => {
    expect(textOf(document)).toContain(sentence);
  });

  test('a latency from the model of a fleet is called modelled, in documents and sources', () => {
    const sources = globSync(['{api,bench,cli,console,examples,functions,infra,shared}/**/*.ts'], {
      cwd: ROOT,
      // The lock clients that a benchmark installs.
      exclude: ['**/node_modules/**'],
    });
    const bare = ['CHANGELOG.md', ...documents().map((document) => document.path), ...sources].flatMap((file) =>
      textOf(file)
        .split('\n')
        .filter((line) => MODELLED_FIGURE.test(line) && !line.includes('modelled'))
        .map((line) => `${file}: ${line}`),
    );

    expect(bare).toEqual([]);
  });
});
