/**
 * Tables and figures of the documents that are made from the code, so that no number is typed twice.
 * `npx vitest run test/docs/made-tables.test.ts -u` writes them again; review the diff.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { DEFAULT_WORKLOAD, estimateCost } from '../../shared/operate/cost/estimate.ts';
import { PRICES } from '../../shared/operate/cost/prices.ts';
import { verbTable } from '../../shared/operate/cost/verbs.ts';
import { ALARM_METRICS, METRICS_SENT } from '../../shared/operate/cost/watching.ts';
import { ROOT } from '../support/documents.ts';

const estimate = estimateCost(DEFAULT_WORKLOAD, PRICES);
const dollars = (value: number): string =>
  `$${value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
const amount = (value: number): string =>
  value.toLocaleString('en-US', { notation: 'compact', maximumSignificantDigits: 3 });

/** By name: the lines between `<!-- made: NAME -->` and `<!-- /made -->`. */
const MADE: Readonly<Record<string, () => string>> = {
  prices: () =>
    table(
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
    table(
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
      `Its alarms read ${ofQueue + ofQueueInWaker} metrics, and those of the waker ${ofWaker} once a table.`,
      `With all alarms on, the first empty queue of a table costs ${dollars(first.dollars)} a month, each further one ${dollars(further.dollars)}, and the table's dashboard ${dollars(dashboard.dollars)}; in an account where nothing else runs, ${dollars(first.dollarsAfterFree)} and ${dollars(dashboard.dollarsAfterFree)}.`,
    ].join('\n');
  },
};

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const BLOCK = /(<!-- made: (\w+) -->\n).*?(\n<!-- \/made -->)/gs;
const textOf = (document: string): string => readFileSync(path.join(ROOT, document), 'utf8');

test('docs/cost.md says what the code says', async () => {
  const made = textOf('docs/cost.md').replace(BLOCK, (_, begin: string, name: string, end: string) => {
    const make = MADE[name];
    if (make === undefined) throw new Error(`nothing makes ${name}`);
    return begin + make() + end;
  });

  expect([...made.matchAll(BLOCK)].map(([, , name]) => name).sort()).toEqual(Object.keys(MADE).sort());
  await expect(made).toMatchFileSnapshot(path.join(ROOT, 'docs/cost.md'));
});

describe('figures in sentences', () => {
  const verbs = verbTable(DEFAULT_WORKLOAD);
  const runbooks = [...textOf('docs/operating.md').matchAll(/^## Runbook: (\S+)$/gm)].map(([, name = '']) => name);
  const ofWaker = runbooks.filter((name) => name.startsWith('waker')).length;

  test.each([
    ['README.md', `about $${estimate.dollarsPerMillionTasks.toFixed(1)}, all that is billed included`],
    ['docs/operating.md', `${runbooks.length - ofWaker} alarms for each queue, and ${ofWaker} for the waker`],
    ['bench/README.md', `\`leasehold cost\` estimates ${dollars(estimate.standing.trickle.dollarsPerMonth)}`],
    ['docs/cost.md', `| enqueue | ${verbs.enqueue.total} |`],
    ['docs/cost.md', `| claim | ${verbs.claim.total} |`],
    ['docs/cost.md', `| complete | ${verbs.complete.total} |`],
    ['docs/cost.md', `| retry, snooze | ${verbs.retry.total} |`],
  ])('%s has: %s', (document, sentence) => {
    expect(textOf(document)).toContain(sentence);
  });

  test('a latency from the model of a fleet is called modelled', () => {
    const bare = ['docs/timing.md', 'docs/decisions.md', 'docs/tasks.md', 'README.md', 'bench/README.md'].flatMap(
      (document) =>
        textOf(document)
          .split('\n')
          .filter((line) => /\b(?:285|357|770)\b/.test(line) && !line.includes('modelled')),
    );

    expect(bare).toEqual([]);
  });
});
