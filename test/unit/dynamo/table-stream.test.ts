/** Wakes on one machine: enqueued tasks in engines' streams. The test waits for them without a timeout. */
import { describe, expect, inject, test, vi } from 'vitest';
import { startEngine } from '../../../local/engine.ts';
import { engineWakes } from '../../../shared/client/engine-wakes.ts';
import { followTable } from '../../../shared/dynamo/table-stream.ts';
import type { StreamRecord } from '../../../shared/dynamo/inserted.ts';
import { insertedTasks } from '../../../shared/dynamo/inserted.ts';
import { systemClock } from '../../../shared/core/runtime/clock.ts';
import { closeCommandTable, openCommandTable } from '../../support/command-table.ts';

const PATIENCE = { timeout: 120_000, interval: 100 };

async function engineOf(kind: 'memory' | 'embedded' | 'dynamodb-local') {
  if (kind === 'memory') return await startEngine({ kind });
  const endpoint = inject(kind === 'embedded' ? 'embeddedEndpoint' : 'dynamodbLocalEndpoint') ?? '';
  return { endpoint, stop: async () => undefined };
}

function isMissing(kind: string): boolean {
  if (kind === 'memory') return false;
  return inject(kind === 'embedded' ? 'embeddedEndpoint' : 'dynamodbLocalEndpoint') === null;
}

describe.each(['memory', 'embedded', 'dynamodb-local'] as const)('the stream of the engine %s', (kind) => {
  test.skipIf(isMissing(kind))(
    'tells of each task that is inserted, once, and of none that was there before',
    async () => {
      const engine = await engineOf(kind);
      const table = await openCommandTable(engine.endpoint);
      const stop = new AbortController();
      const told: StreamRecord[] = [];
      const { tasks } = table.leasehold;
      try {
        await tasks.enqueue('task', null, { id: 'before' });
        const following = followTable(
          { endpoint: engine.endpoint, table: table.table, clock: systemClock },
          (records) => void told.push(...records),
          stop.signal,
        );
        const ids = Array.from({ length: 5 }, (_, nth) => `after ${nth}`);
        // The starting position in the stream is known once it has delivered a task.
        await vi.waitFor(async () => {
          await tasks.enqueue('task', null, { queue: 'probe' });
          expect(told.length).toBeGreaterThan(0);
        }, PATIENCE);
        for (const id of ids) await tasks.enqueue('task', null, { id });
        await tasks.enqueue('task', null, { id: 'after 0' });
        await table.leasehold.tasks.enqueue('task', null, { id: 'last', queue: 'another' });
        await vi.waitFor(() => {
          expect(insertedTasks(told).get('another')).toEqual(['last']);
        }, PATIENCE);
        stop.abort();
        await following;

        expect(insertedTasks(told).get('default')).toEqual(ids);
        const keys = told
          .filter(({ eventName }) => eventName === 'INSERT')
          .map(({ dynamodb }) => dynamodb?.Keys?.pk?.S);
        expect(keys.length).toBe(new Set(keys).size);
      } finally {
        closeCommandTable(table);
        await engine.stop();
      }
    },
  );
});

describe('a worker of this machine', () => {
  test('receives the tasks of its queue, and of no other', async () => {
    const engine = await startEngine({ kind: 'memory' });
    const table = await openCommandTable(engine.endpoint);
    const heard: string[] = [];
    let enqueued = 0;
    const stopListening = engineWakes(
      { endpoint: engine.endpoint, table: table.table, clock: systemClock },
      'mine',
    )?.((ids = []) => void heard.push(...ids));
    try {
      await vi.waitFor(async () => {
        await table.leasehold.tasks.enqueue('task', null, { queue: 'another' });
        await table.leasehold.tasks.enqueue('task', null, { queue: 'mine', id: `task ${++enqueued}` });
        expect(heard.length).toBeGreaterThan(0);
      }, PATIENCE);

      expect(heard.every((id) => id.startsWith('task '))).toBe(true);
    } finally {
      stopListening?.();
      closeCommandTable(table);
      await engine.stop();
    }
  });

  test.each([undefined, 'https://dynamodb.eu-west-1.amazonaws.com', 'http://10.0.0.1:8000'])(
    'leaves the stream alone at %s',
    (endpoint) => {
      expect(engineWakes({ endpoint, table: 'leasehold', clock: systemClock }, 'mine')).toBeUndefined();
    },
  );
});
