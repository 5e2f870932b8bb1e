/**
 * The result of an attempt and the rows that it leaves if one of its operations fails: each operation, with each kind of error.
 *
 * After an intended change: `npx vitest run test/unit/tasks/run/faults.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import type { Fault } from './attempt-run.ts';
import { attempt } from './attempt-run.ts';
import type { Scene } from './attempt-scenes.ts';
import { SCENES } from './attempt-scenes.ts';
import { PACK_SCENES } from './pack-scenes.ts';

/** Each happens once, at the first operation of its name. */
const FAULTS: Readonly<Record<string, (send: () => Promise<unknown>) => Promise<unknown>>> = {
  'is refused by the service': () => Promise.reject(new TypeError('refused')),
  'is not sent': () => Promise.reject(new StoreUnavailableError('away', { applied: 'no' })),
  'is not answered': async (send) => {
    await send();
    throw new StoreUnavailableError('no answer', { applied: 'unknown' });
  },
};

const CHOSEN: readonly string[] = [
  'returns a value',
  'throws',
  'throws at its last attempt',
  'is cancelled, and stops',
  'is cancelled while it fails',
  'is handed back before it begins',
  'is handed back for the fifth time',
  'commits with children',
  'commits with a write that is refused',
  'snoozes',
  'waits for children',
  'saves the progress that it had',
  'is followed, and returns',
  'is followed, and throws',
  'is followed, and commits',
  'has a payload, and returns',
  'a pack of which an item commits, and one fails',
  'a pack that is handed back in its second item',
  'a pack that is cancelled in its second item',
  'a pack with an item whose id is taken',
];

const once = (verb: string, act: (send: () => Promise<unknown>) => Promise<unknown>): Fault => {
  let isOver = false;
  return (sent, send) => {
    if (isOver || sent !== verb) return send();
    isOver = true;
    return act(send);
  };
};

/** The operations of a scene, each once. */
async function verbsOf(scene: Scene): Promise<readonly string[]> {
  const verbs = new Set<string>();
  const fault: Fault = (verb, send) => {
    verbs.add(verb);
    return send();
  };
  await attempt(scene, { fault });
  return [...verbs];
}

/** The events, the report and the rows of a story, without what it wrote. */
const end = (lines: readonly string[]): readonly string[] =>
  lines.filter((line) =>
    /^(log|followers|stalled|progress|refused|\{|undefined|listeners|timers|\w*Error|a stack|the payload)/.test(line),
  );

test('each operation of an attempt, with each kind of error', async () => {
  const text: string[] = [];
  const scenes: Readonly<Record<string, Scene>> = { ...SCENES, ...PACK_SCENES };
  for (const name of CHOSEN) {
    const scene = scenes[name];
    if (scene === undefined) throw new Error(`there is no scene ${name}`);
    text.push(name);
    const known = new Map<string, string>();
    for (const verb of await verbsOf(scene))
      for (const [what, act] of Object.entries(FAULTS)) {
        const place = `${verb} ${what}`;
        const story = end(await attempt(scene, { fault: once(verb, act) }))
          .map((line) => `    ${short(line)}`)
          .join('\n');
        const same = known.get(story);
        text.push(same === undefined ? `  ${place}\n${story}` : `  ${place}: as if ${same}`);
        known.set(story, same ?? place);
      }
  }
  await expect(`${text.join('\n')}\n`).toMatchFileSnapshot('./faults.golden.txt');
});

/** Without what `attempts.golden.txt` shows: the details of an error, and the inputs of a pack. */
function short(line: string): string {
  const isLog = line.startsWith('log ');
  return isLog ? line.slice(0, Math.max(0, line.indexOf(' {'))) : line.slice(0, 400);
}
