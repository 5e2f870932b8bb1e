/** A task's sequencer: the properties of a claim that others may learn from it. */
import { beforeEach, expect, test } from 'vitest';
import { formatSequencer, parseSequencer } from '../../../../shared/core/lease/sequencer.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { TestKit } from '../../../../shared/testing/kit.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

let kit: TestKit;
/** Each attempt's, in order. */
let shown: { readonly sequencer: string; readonly token: number; readonly found: unknown }[];

const work = defineTask({
  name: 'work',
  retry: { maxAttempts: 5, backoff: 1_000 },
  async run(input: { readonly fails?: boolean } | null, { sequencer, fencingToken: token }) {
    shown.push({ sequencer, token, found: await kit.leasehold.verify(sequencer) });
    if (input?.fails === true) throw new Error('not today');
  },
});

beforeEach(() => {
  kit = createTestKit({ tasks: { work } });
  shown = [];
});

const verify = (attempt: number) => kit.leasehold.verify(shown[attempt]?.sequencer ?? '');

test('is valid while the task runs under that claim, and not once it has ended', async () => {
  await kit.tasks.enqueue(work, {}, { id: 'a' });

  await kit.drain();

  expect(shown).toMatchObject([{ found: { kind: 'valid' } }]);
  expect(await verify(0)).toEqual({ kind: 'released' });
});

test('is of one attempt: released behind it, and superseded by the next', async () => {
  await kit.tasks.enqueue(work, { fails: true }, { id: 'a' });

  await kit.runOnce();
  expect(await verify(0)).toEqual({ kind: 'released' });
  await kit.advance('1m');
  await kit.runOnce();

  expect(await verify(0)).toEqual({ kind: 'superseded', leaseCounter: shown[1]?.token });
  expect(shown[1]?.found).toMatchObject({ kind: 'valid' });
});

test("is valid until the dead worker's session expires, and superseded after the takeover", async () => {
  const dying = dyingKit();
  await dying.kit.tasks.enqueue('dying', {}, { id: 'a' });
  await dying.kit.crash('beforeSettle');
  const verifyFirst = () => dying.kit.leasehold.verify(dying.sequencers[0] ?? '');

  expect(await verifyFirst()).toMatchObject({ kind: 'valid' });
  await dying.kit.advance('1m');
  expect(await verifyFirst()).toEqual({ kind: 'sessionDead' });
  await dying.kit.drain();
  expect(await verifyFirst()).toMatchObject({ kind: 'superseded' });
});

test('is invalid with another session, even a live one', async () => {
  const forging = defineTask({
    name: 'forging',
    async run(_: unknown, { sequencer }) {
      const stranger = await kit.leasehold.session();
      const { table } = kit.leasehold;
      const forged = formatSequencer({ ...parseSequencer(sequencer, table), session: stranger.id });
      const found = await kit.leasehold.verify(forged);
      await stranger.end();
      return found.kind;
    },
  });
  kit = createTestKit({ tasks: { forging } });
  await kit.tasks.enqueue(forging, {}, { id: 'a' });

  await kit.drain();

  expect(await kit.tasks.get('a')).toMatchObject({ result: 'superseded' });
});

test('is refused for a semaphore, with a hint where to look', async () => {
  const { table } = kit.leasehold;
  const sequencer = formatSequencer({ table, kind: 'semaphore', key: 'vendor', leaseCounter: 1, session: 's' });

  await expect(kit.leasehold.verify(sequencer)).rejects.toThrow('of semaphore vendor, which has many holders');
});

function dyingKit() {
  const sequencers: string[] = [];
  const dying = defineTask({
    name: 'dying',
    run(_: unknown, task) {
      sequencers.push(task.sequencer);
    },
  });
  return { kit: createTestKit({ tasks: { dying } }), sequencers };
}
