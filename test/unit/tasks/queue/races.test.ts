/**
 * What each act of an operator or a client answers, and what it leaves, if another process acts between any two of its requests,
 * or after a write whose answer is lost.
 *
 * After an intended change: `npx vitest run test/unit/tasks/queue/races.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { passTime } from '../../../support/coordination.ts';
import { shown, Story } from '../../../support/story.ts';
import type { Scene, Step } from './race-scenes.ts';
import { get, SCENES } from './race-scenes.ts';

/** A rival acts before a request, or after it was applied; then its answer is lost. */
type When = 'before' | 'answer lost';

/** Lets the rival act at the request at this place. Returns what is sent. */
function interrupt(driver: DynamoDriver, { at, when }: Interruption, rival: () => Promise<unknown>): string[] {
  const attempt = driver.attempt.bind(driver);
  const sent: string[] = [];
  driver.attempt = async (kind, input, signal) => {
    const isNow = sent.push(kind) - 1 === at;
    if (isNow && when === 'before') await rival();
    const answer = await attempt(kind, input, signal);
    if (!isNow || when === 'before') return answer;
    await rival();
    throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
  };
  return sent;
}

interface Interruption {
  readonly at: number;
  readonly when: When;
}

async function told(story: Story, act: Step): Promise<string> {
  try {
    return shown(await act(story));
  } catch (error) {
    return shown(error).replace(/after \d+ attempts/, 'after some attempts');
  }
}

async function run(
  { before, act, facts }: Scene,
  place: Interruption,
  rival: Step,
): Promise<{ text: string; sent: string[] }> {
  const story = new Story();
  await before?.(story);
  const refused: unknown[] = [];
  const sent = interrupt(story.here.driver, place, async () => {
    await rival(story).catch((error: unknown) => refused.push(error));
  });
  const answer = await passTime(story.world, told(story, act), 1_000);
  const left = facts === undefined ? stateOf(await get(story)) : await facts(story);
  return { text: `${refused.length > 0 ? 'the rival was refused; ' : ''}${answer}\n    left: ${shown(left)}`, sent };
}

function stateOf(task: Awaited<ReturnType<typeof get>>): unknown {
  if (task === undefined) return undefined;
  const { state, input, priority, attempts, session, cancellation, follower, generation } = task;
  return { state, input, priority, attempts, session, cancellation, follower: follower?.input, generation };
}

const NEVER: Interruption = { at: -1, when: 'before' };
const READS: ReadonlySet<string> = new Set(['get', 'batchGet', 'query']);

/** Before each request, but only once among queries that follow each other: they read one shard each. Writes also lose their answers. */
function placesIn(sent: readonly string[]): readonly Interruption[] {
  return [
    ...sent.flatMap((kind, at) =>
      kind === 'query' && sent[at - 1] === 'query' ? [] : [{ at, when: 'before' } as const],
    ),
    ...sent.flatMap((kind, at) => (READS.has(kind) ? [] : [{ at, when: 'answer lost' } as const])),
  ];
}

async function toldOf(name: string, scene: Scene): Promise<string> {
  const alone = await run(scene, NEVER, () => Promise.resolve());
  const lines = [name, `  alone`, `    ${alone.text}`];
  for (const [what, rival] of Object.entries(scene.rivals)) {
    let before = '';
    for (const place of placesIn(alone.sent)) {
      const { text } = await run(scene, place, rival);
      const { at, when } = place;
      const where = `request ${at + 1} (${alone.sent[at]})`;
      lines.push(`  ${what} ${when === 'before' ? `before ${where}` : `after ${where}, whose answer is lost`}`);
      lines.push(`    ${text === before ? 'the same' : text}`);
      before = text;
    }
  }
  return lines.join('\n');
}

test('each act, with a rival between any two of its requests', async () => {
  const texts: string[] = [];
  for (const [name, scene] of Object.entries(SCENES)) texts.push(await toldOf(name, scene));
  await expect(`${texts.join('\n')}\n`).toMatchFileSnapshot('./races.golden.txt');
});
