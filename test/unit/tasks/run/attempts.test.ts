/**
 * Each way in which an attempt can end: what the claim writes and with which limits, what it logs and reports, and what it leaves.
 *
 * After an intended change: `npx vitest run test/unit/tasks/run/attempts.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import { attempt } from './attempt-run.ts';
import { SCENES } from './attempt-scenes.ts';

test('each way in which an attempt can end', async () => {
  const texts: string[] = [];
  for (const [name, scene] of Object.entries(SCENES))
    texts.push([name, ...(await attempt(scene)).map((line) => `  ${line}`)].join('\n'));
  await expect(`${texts.join('\n')}\n`).toMatchFileSnapshot('./attempts.golden.txt');
});
