import { expect, test } from 'vitest';
import { ownEntries } from '../../../../shared/tasks/rows/index-entries.ts';

test('entries of other queues are dropped, also of one whose name begins alike', () => {
  const damaged: string[] = [];
  const own = { pk: 'task#mail#a', sk: 'task' };
  const foreign = [
    { pk: 'task#mail2#a', sk: 'task' },
    { pk: 'task#other#a', sk: 'task' },
    { pk: 'schedule#mail#a', sk: 'schedule' },
    { pk: 'task#mail#a', sk: 'other' },
  ];

  const kept = ownEntries([own, ...foreign], { kind: 'task', queue: 'mail' }, (error) => {
    damaged.push(String(error));
  });

  expect(kept).toEqual([own]);
  expect(damaged).toHaveLength(foreign.length);
});
