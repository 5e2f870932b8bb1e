import { describe, expect, test } from 'vitest';
import type { PartitionBacklog } from '../../../../shared/tasks/dispatch/plan.ts';
import { planWorkers } from '../../../../shared/tasks/dispatch/plan.ts';

const settings = { shards: 4, maxWorkers: 5, tasksPerWorker: 10 };

function backlogOf(...due: readonly number[]): PartitionBacklog[] {
  return due.map((count, shard) => ({ partition: { queue: 'q', priority: 'normal', shard }, due: count }));
}

describe('planWorkers', () => {
  test('starts no worker for nothing', () => {
    expect(planWorkers(backlogOf(0, 0, 0, 0), 0, settings)).toEqual([]);
  });

  test('starts one worker for a single task, with every shard its home', () => {
    expect(planWorkers(backlogOf(0, 0, 1, 0), 0, settings)).toEqual([[2, 0, 1, 3]]);
  });

  test('starts the difference to those that live', () => {
    expect(planWorkers(backlogOf(10, 10, 10, 1), 3, settings)).toHaveLength(1);
    expect(planWorkers(backlogOf(10, 10, 10, 1), 9, settings)).toHaveLength(0);
  });

  test('never plans more than the cap', () => {
    expect(planWorkers(backlogOf(900, 900, 900, 900), 0, settings)).toHaveLength(5);
  });

  test('deals each shard once while there are more shards than workers, fullest first', () => {
    expect(planWorkers(backlogOf(1, 9, 2, 8), 0, settings)).toEqual([
      [1, 2],
      [3, 0],
    ]);
  });

  test('gives every worker a home when there are more workers than shards', () => {
    const homes = planWorkers(backlogOf(20, 20, 5, 5), 0, settings);

    expect(homes).toEqual([[0], [1], [2], [3], [0]]);
  });
});
