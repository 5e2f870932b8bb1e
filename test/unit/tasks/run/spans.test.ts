/**
 * The spans of an attempt, for each way in which it can end: their parents, times and attributes.
 *
 * After an intended change: `npx vitest run test/unit/tasks/run/spans.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { TaskSpans } from '../../../../shared/tasks/tracing/task-spans.ts';
import type { Fault } from './attempt-run.ts';
import { attempt } from './attempt-run.ts';
import type { Scene } from './attempt-scenes.ts';
import { SCENES } from './attempt-scenes.ts';
import type { NotedSpan } from '../../../support/noted-spans.ts';
import { NotedSpans } from '../../../support/noted-spans.ts';

const BEGAN = Date.parse('2026-01-01T00:00:00Z');

function toldOf({ draft, parent, end }: NotedSpan, at: number): string {
  const { name, startAt, attributes } = { ...draft, attributes: { ...draft.attributes, ...end?.attributes } };
  const of = ['messaging.message.id', 'leasehold.attempt', 'leasehold.settlement'];
  const facts = of.flatMap((attribute) => {
    const value = attributes[attribute];
    return value === undefined ? [] : [`${attribute.split('.').at(-1)} ${value}`];
  });
  const error = end?.error === undefined ? [] : [`error ${end.error.type}`];
  const span = `${startAt - BEGAN} to ${end === undefined ? 'no end' : end.at - BEGAN} ms`;
  return `${at + 1}. ${name.replace(' default', '')} under ${parent}, ${span}: ${[...facts, ...error].join(', ')}`;
}

const once = (verb: string | undefined): Fault => {
  let isOver = verb === undefined;
  return (sent, send) => {
    if (isOver || sent !== verb) return send();
    isOver = true;
    return Promise.reject(new StoreUnavailableError('away', { applied: 'no' }));
  };
};

/** Scenes, each with an operation that fails once, if any. */
const CHOSEN: readonly (readonly [scene: string, fails?: string])[] = [
  ['returns a value'],
  ['returns a value', 'complete'],
  ['throws'],
  ['throws', 'retry'],
  ['throws at its last attempt'],
  ['is cancelled, and stops'],
  ['is handed back before it begins'],
  ['is handed back for the fifth time'],
  ['loses its session, and stops'],
  ['is taken over, and returns'],
  ['is taken over, and saves progress'],
  ['commits with children'],
  ['commits with children', 'commit'],
  ['commits with a write that is refused'],
  ['snoozes'],
  ['waits for children'],
  ['saves the progress that it had'],
  ['is followed, and returns'],
  ['times out, and does not stop'],
];

test('the spans of an attempt, for each way in which it can end', async () => {
  const text: string[] = [];
  const scenes: Readonly<Record<string, Scene>> = SCENES;
  for (const [name, fails] of CHOSEN) {
    const scene = scenes[name];
    if (scene === undefined) throw new Error(`there is no scene ${name}`);
    const notes = new NotedSpans();
    await attempt(scene, { fault: once(fails), spans: new TaskSpans(notes) });
    text.push(`${name}${fails === undefined ? '' : `; ${fails} fails once`}`);
    text.push(...notes.all.map((noted, at) => `  ${toldOf(noted, at)}`));
  }
  await expect(`${text.join('\n')}\n`).toMatchFileSnapshot('./spans.golden.txt');
});
