import { expect, test } from 'vitest';
import { exerciseVerbs } from '../../../bench/every-verb.ts';
import { Sender } from '../../../shared/dynamo/engine/send.ts';
import { putPayload } from '../../../shared/tasks/rows/payload-statements.ts';
import type { Statement } from '../../../shared/dynamo/engine/statement.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import { memoryDynamo } from '../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../shared/testing/simulated-dynamo/driver.ts';

const TABLE = 'leasehold';
/** Epoch milliseconds. */
const LATER = 4_242_424_242_424;

/** The parts of a request that decide its effect; the values are the caller's. */
const EXPRESSIONS = [
  'ConditionExpression',
  'KeyConditionExpression',
  'UpdateExpression',
  'ProjectionExpression',
] as const;

/** A task's history is a ring of attributes; a claim writes the attribute at its counter's position. */
const PLACE_IN_RING = /(#past)\d/g;

/** How many revocations one renewal removes depends on how many came since the one before. */
const MORE_REVOKED = /(#revoked\[0\])(?:, #revoked\[\d+\])+/g;

/** A change of the protocol is seen in the protocol's own words, in the review of this one file. */
test('the statements of the protocol, as the exercise of all verbs sends them', async () => {
  const texts = new Map<string, Set<string>>();
  const restamped = new Map<string, boolean>();
  const sender = new Sender({
    driver: simulatedDriver(memoryDynamo(TABLE, () => systemRuntime.clock.now())),
    runtime: systemRuntime,
    observer: {
      onAttempt({ statement }) {
        const variants = texts.get(statement.verb) ?? new Set();
        texts.set(statement.verb, variants.add(textOf(statement)));
        const later = statement.restamped?.(LATER);
        if (later !== undefined) restamped.set(statement.verb, JSON.stringify(later.input).includes(String(LATER)));
      },
    },
  });

  await exerciseVerbs(sender, TABLE, () => undefined);

  const sorted = [...texts].sort(([one], [other]) => one.localeCompare(other));
  const sections = sorted.map(([verb, variants]) => `## ${verb}\n\n${[...variants].sort().join('\n')}`);
  await expect(`# Statements\n\n${sections.join('\n')}`).toMatchFileSnapshot('./statements.golden.txt');
  // A statement that is sent again later says so.
  expect(restamped.size).toBeGreaterThan(0);
  expect([...restamped].filter(([, isLater]) => !isLater)).toEqual([]);
});

test('inputs that are asked for while a task runs have rows of their own', () => {
  const rowOf = (nonce: string, isApart: boolean) => {
    const { pk, sk } = putPayload(TABLE, { queue: 'q', id: 't', runAt: 0 }, '{}', { nonce, isApart }).input.Item ?? {};
    return `${String(pk)} ${String(sk)}`;
  };

  const rows = [rowOf('1', false), rowOf('2', false), rowOf('1', true), rowOf('2', true)];

  expect(rows).toEqual(['payload#q#t payload', 'payload#q#t payload', 'payload#q#t apart#1', 'payload#q#t apart#2']);
});

type Action = readonly [name: string, request: Readonly<Record<string, unknown>>];

function textOf({ kind, input }: Statement): string {
  const actions: Action[] =
    'TransactItems' in input
      ? (input.TransactItems ?? []).flatMap((action) => Object.entries(action) as unknown as Action[])
      : [[kind, { ...input }]];
  return actions.map(([name, request]) => `${name}\n\n${expressionsOf(request).join('')}`).join('\n');
}

function expressionsOf(request: Action[1]): string[] {
  return EXPRESSIONS.flatMap((name) => {
    const text = request[name];
    return typeof text === 'string'
      ? [`- ${name}: \`${text.replace(PLACE_IN_RING, '$1N').replace(MORE_REVOKED, '$1')}\`\n`]
      : [];
  });
}
