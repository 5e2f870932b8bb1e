/** No verb of the test kit leaves a timer of the process behind: a test runner would wait for it. */
import { expect, test } from 'vitest';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import type { TestKit } from '../../../shared/testing/kit.ts';
import { createTestKit } from '../../../shared/testing/kit.ts';

const work = defineTask({ name: 'work', run: () => 'done' });
const VERBS: Readonly<Record<string, (kit: TestKit) => Promise<unknown>>> = {
  drain: (kit) => kit.drain(),
  'drain with a lifetime': (kit) => kit.drain({ lifetime: '1m', timePasses: true }),
  runOnce: (kit) => kit.runOnce(),
  crash: (kit) => kit.crash('beforeRun'),
  everyCrash: (kit) => kit.everyCrash(work, null, () => undefined),
  advance: (kit) => kit.advance('1h'),
  tick: (kit) => kit.tick(),
};

test.each(Object.entries(VERBS))('%s leaves none', async (_verb, call) => {
  const kit = createTestKit({ tasks: { work } });
  await kit.tasks.enqueue(work, null);
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();

  await call(kit);

  expect(timers()).toBeLessThanOrEqual(before);
});
