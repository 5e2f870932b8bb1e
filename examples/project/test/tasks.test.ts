/** The tasks on the test kit: the shipped queue in memory, with a clock that the tests move. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidInputError } from 'leasehold/tasks';
import { createTestKit } from 'leasehold/testing';
import * as tasks from '../src/tasks.ts';

const newKit = () => createTestKit({ tasks, tables: tasks.devTables });

test('greets', async () => {
  const kit = newKit();
  await kit.tasks.enqueue(tasks.greet, { name: 'Ada' }, { id: 'first' });
  await kit.drain();

  const task = await kit.tasks.get('first');
  assert(task?.state === 'done');
  assert.deepEqual(task.result, { greeted: 'Ada' });
});

test('refuses an empty name', async () => {
  await assert.rejects(newKit().tasks.enqueue(tasks.greet, { name: '' }), InvalidInputError);
});

test('writes a report once, wherever its worker crashes', async () => {
  const kit = newKit();
  await kit.everyCrash(tasks.report, null, ({ task }) => {
    assert.equal(task.state, 'done');
    assert.deepEqual(
      kit.rows('reports').map(({ written }) => written),
      [1],
    );
  });
});

test('writes a report each night', async () => {
  const kit = newKit();
  for (let night = 1; night <= 3; night++) {
    await kit.advance('1d');
    await kit.tick();
    await kit.drain();
    assert.equal(kit.rows('reports').length, night);
  }
});
