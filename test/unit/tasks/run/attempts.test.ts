/**
 * Each way in which an attempt can end: what the claim writes and with which limits, what it logs and reports, and what it leaves.
 *
 * After an intended change: `npx vitest run test/unit/tasks/run/attempts.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import { INPUT_LIMIT_BYTES } from '../../../../shared/tasks/task/task.ts';
import { attempt } from './attempt-run.ts';
import { SCENES } from './attempt-scenes.ts';

test('each way in which an attempt can end', async () => {
  const texts: string[] = [];
  for (const [name, scene] of Object.entries(SCENES))
    texts.push([name, ...(await attempt(scene)).map((line) => `  ${line}`)].join('\n'));
  await expect(`${texts.join('\n')}\n`).toMatchFileSnapshot('./attempts.golden.txt');
});

test('which ends leave the payload of a large input, for those who run the task again', async () => {
  const lines: string[] = [];
  for (const [name, scene] of Object.entries(SCENES)) {
    // The others have payloads of their own, read their input, or differ only in what they write before they are done.
    if (scene.input !== undefined || scene.define?.input !== undefined || /^(commits|saves)/.test(name)) continue;
    const told = await attempt({ ...scene, input: 'x'.repeat(INPUT_LIMIT_BYTES) });
    const settlement = told.findLast((line) => / after \d+ ms$/.test(line))?.replace(/ after \d+ ms$/, '') ?? '';
    const kept = told.includes('the payload is kept') ? 'kept' : 'removed';
    lines.push(`${kept.padEnd(8)}${name}: ${settlement.slice(0, 90)}`);
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./payloads.golden.txt');
});
