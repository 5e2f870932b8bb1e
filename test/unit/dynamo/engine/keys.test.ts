import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { joinKey, readyPartitionKey, shardOf, splitKey, taskKey } from '../../../../shared/dynamo/engine/keys.ts';
import { groupPlace, parseGroupPlace } from '../../../../shared/tasks/rows/task/index-places.ts';
import { ConfigurationError } from '../../../../shared/core/errors.ts';

/** Text made of what keys are made of, so that collisions would be found. */
const part = fc.oneof(
  fc.string({ unit: fc.constantFrom('#', '%', '2', '3', '5', 'a') }),
  fc.string({ unit: 'binary' }),
);

describe('keys', () => {
  test('builds distinct keys from distinct tuples, and parses them back', () => {
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
        expect(splitKey(joinKey(parts))).toEqual(parts);
      }),
      { numRuns: 20_000, seed: 20_261_123 },
    );
  });

  test('keeps names apart that naive joining would confuse', () => {
    expect(taskKey('a#b', 'c').pk).not.toBe(taskKey('a', 'b#c').pk);
    expect(readyPartitionKey('q#high', 'low', 1)).not.toBe(readyPartitionKey('q', 'high', 1));
  });

  test("refuses a key beyond the service's limit, and gives its length", () => {
    expect(() => taskKey('#'.repeat(512), '#'.repeat(512))).toThrow(ConfigurationError);
    expect(() => taskKey('#'.repeat(512), '#'.repeat(512))).toThrow(/has 3078 bytes: DynamoDB allows 2048/);
  });

  test('gives a position to any tenant of ordinary text, and refuses one that DynamoDB would refuse', () => {
    const tenant = 'ü'.repeat(256);

    expect(parseGroupPlace(groupPlace({ tenant }, 1, 'id'))).toMatchObject({ tenant, readyAt: 1 });
    expect(() => groupPlace({ tenant: '#'.repeat(512) }, 1, 'id')).toThrow(ConfigurationError);
    expect(() => groupPlace({ tenant: '#'.repeat(512) }, 1, 'id')).toThrow(
      /tenant ###.* has 1573 bytes: DynamoDB allows 1024/,
    );
  });

  test('assigns a task to a stable shard, and fills shards evenly', () => {
    const counts = [0, 0, 0, 0];
    for (let n = 0; n < 4_000; n++) counts[shardOf(`task-${n}`, 4)]!++;

    expect(shardOf('task-1', 8)).toBe(shardOf('task-1', 8));
    expect(Math.min(...counts)).toBeGreaterThan(900);
  });
});
