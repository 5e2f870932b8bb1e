/**
 * All that commands print, each as a text that users read.
 *
 * After an intended change: `npx vitest run test/unit/cli/printed.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import { attempts } from './printed/attempts.ts';
import { examined } from './printed/examined.ts';
import { help } from './printed/help.ts';
import { nouns } from './printed/nouns.ts';
import { run } from './printed/run.ts';
import { supervisor } from './printed/supervisor.ts';
import { tail } from './printed/tail.ts';
import { worked } from './printed/worked.ts';

const TEXTS = { ...nouns, attempts, examined, help, run, supervisor, tail, worked };

test.each(Object.entries(TEXTS))('what is printed: %s', async (name, text) => {
  await expect(await text()).toMatchFileSnapshot(`./printed/${name}.txt`);
});
