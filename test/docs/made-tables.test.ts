/** Tables and figures of the documents that are generated from the code; `test/infra/operating-guide.test.ts` has those of alarms. */
import { globSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { DEFAULT_WORKLOAD, estimateCost } from '../../shared/operate/cost/estimate.ts';
import { PRICES } from '../../shared/operate/cost/prices.ts';
import { ALARM_METRICS, METRICS_SENT } from '../../shared/operate/cost/watching.ts';
import { DEFAULT_TTL_MS } from '../../shared/core/lease/timing.ts';
import { documents, ROOT } from '../support/documents.ts';
import { expectMade, markdownTable, textOf } from '../support/made-blocks.ts';
import { unitsByVerb } from '../support/units-by-verb.ts';

const estimate = estimateCost(DEFAULT_WORKLOAD, PRICES);
const units = await unitsByVerb();
/** From enqueue to task code: with a running worker, warm and cold. */
const MODELLED_FIGURE = /(?<![\d.,$])(?:285|357|770)(?![\d.,]*\d)/;
const dollars = (value: number): string =>
  `$${value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
const amount = (value: number): string =>
  value.toLocaleString('en-US', { notation: 'compact', maximumSignificantDigits: 3 });

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
  prices: () =>
    markdownTable(
      ['what', 'price', 'free each month', 'read in'],
      Object.entries(PRICES.of).map(([name, price]) => [
        `\`${name}\``,
        price.per === 1
          ? `$${price.dollars} a ${price.unit.replace(/s$/, '')}`
          : `$${price.dollars} for ${amount(price.per)} ${price.unit}`,
        price.free === 0 ? '–' : amount(price.free),
        `${price.asOf}, [${new URL(price.source).pathname.split('/')[1]}](${price.source})`,
      ]),
    ),
  bill: () =>
    markdownTable(
      ['a million tasks of a second each day, a month', 'dollars', 'after what is free'],
      [
        ...estimate.parts
          .filter(({ dollars: some }) => some >= 0.005)
          .map((part) => [part.what, dollars(part.dollars), dollars(part.dollarsAfterFree)]),
        [
          '**together**',
          `**${dollars(estimate.dollarsPerMonth)}**`,
          `**${dollars(estimate.dollarsPerMonthAfterFree)}**`,
        ],
        ...estimate.beside.map((other) => [other.what, dollars(other.dollars), dollars(other.dollarsAfterFree)]),
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

test('docs/cost.md says what the code says', () => expectMade('docs/cost.md', MADE));

test('no other document has generated blocks', () => {
  const withBlocks = documents().filter(({ text }) => text.includes('<!-- made:'));

  expect(withBlocks.map((document) => document.path)).toEqual(['docs/cost.md', 'docs/operating.md']);
});

describe('figures in sentences', () => {
  const { idle } = estimate;
  const packed = estimateCost({ ...DEFAULT_WORKLOAD, secondsPerTask: 0.02, inputBytes: 60, packSize: 16 }, PRICES);
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
    ['docs/cost.md', `at the default TTL ${perHour} an hour`],
    ['docs/cost.md', `at the default TTL costs ${(24 * perHour).toLocaleString('en-US')} units a day`],
    ['docs/cost.md', `16 tasks of 60 bytes a pack are ${packed.writeUnitsPerTask.toFixed(3)} write units a task`],
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
