import { expect, test } from 'vitest';
import type { Statement } from '../../../shared/dynamo/engine/statement.ts';
import { SCENES } from '../../scenes/book.ts';
import { set } from '../../scenes/play.ts';
import { simulatedWorld } from '../../support/coordination.ts';

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
test('the statements of the protocol, as the scenes send them', async () => {
  const texts = new Map<string, Set<string>>();
  const restamped = new Map<string, boolean>();
  const unsent: string[] = [];
  for (const scene of SCENES) {
    const sent = new Set<string>();
    const world = simulatedWorld();
    world.observers.push({
      onAttempt({ statement }) {
        sent.add(statement.verb);
        const actions = texts.get(statement.verb) ?? new Set();
        texts.set(statement.verb, actions);
        for (const action of actionsOf(statement)) actions.add(action);
        const later = statement.restamped?.(LATER);
        if (later !== undefined) restamped.set(statement.verb, JSON.stringify(later.input).includes(String(LATER)));
      },
    });
    const { act } = await set(scene, world);
    sent.clear();
    const { error } = await act();
    if (error !== undefined) unsent.push(`${scene.title}: ${String(error)}`);
    if (!sent.has(scene.verb)) unsent.push(`${scene.title}: ${scene.verb}, but ${[...sent].join(', ')}`);
  }

  const sorted = [...texts].sort(([one], [other]) => one.localeCompare(other));
  const sections = sorted.map(([verb, actions]) => `## ${verb}\n\n${[...actions].sort().join('\n')}\n`);
  await expect(`# Statements\n\n${sections.join('\n')}`).toMatchFileSnapshot('./statements.golden.txt');
  // The act of a scene sends its verb.
  expect(unsent).toEqual([]);
  // A statement that is sent again later says so.
  expect(restamped.size).toBeGreaterThan(0);
  expect([...restamped].filter(([, isLater]) => !isLater)).toEqual([]);
});

/** The actions of a request, a paragraph each. */
function actionsOf({ kind, input }: Statement): readonly string[] {
  if (!('TransactItems' in input)) return [actionOf(kind, { ...input })];
  return (input.TransactItems ?? [])
    .flatMap((item) => Object.entries(item))
    .map(([name, request]) => actionOf(name, request as Readonly<Record<string, unknown>>));
}

function actionOf(name: string, request: Readonly<Record<string, unknown>>): string {
  const lines = EXPRESSIONS.flatMap((expression) => {
    const text = request[expression];
    return typeof text === 'string' ? [`  ${text.replace(PLACE_IN_RING, '$1N').replace(MORE_REVOKED, '$1')}`] : [];
  });
  return [name, ...lines].join('\n');
}
