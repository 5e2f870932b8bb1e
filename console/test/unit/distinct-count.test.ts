import { describe, expect, test } from 'vitest';
import { DistinctCount } from '../../server/views/distinct-count.ts';

describe('a count of different ids', () => {
  test('counts each once', () => {
    const lost = new DistinctCount(3);

    for (const id of ['a', 'b', 'a', 'b', 'c', 'a']) lost.meet(id);

    expect(lost.count).toBe(3);
  });

  test('goes on beyond what it remembers, and forgets the first first', () => {
    const lost = new DistinctCount(3);
    for (const id of ['a', 'b', 'c', 'd']) lost.meet(id);
    expect(lost.count).toBe(4);

    for (const id of ['b', 'c', 'd']) lost.meet(id);
    expect(lost.count).toBe(4);

    lost.meet('a');
    expect(lost.count).toBe(5);
  });
});
