/** `kit.everyCrash` over the whole life of a durable task. */
import { expect, test } from 'vitest';
import { createTestKit } from '../../../../api/testing.ts';
import { RESULT, STOCK, orderTask, ship } from './order.ts';
import type { Told } from './order.ts';

test('everyCrash of the kit tries each crash of an order, from the charge to the mail', async () => {
  const told: Told = { ran: [] };
  const order = orderTask(told);
  const kit = createTestKit({ tasks: { order, ship }, tables: [{ name: STOCK, partitionKey: 'id' }] });
  const { crashes } = await kit.everyCrash(
    order,
    { order: 'o-1' },
    ({ task }) => {
      expect(task).toMatchObject({ state: 'done', result: RESULT });
      expect(kit.rows(STOCK)).toEqual([{ id: 'o-1', reserved: 1 }]);
    },
    {
      before: () => {
        told.ran.length = 0;
        told.approval = undefined;
      },
      idle: async () => {
        if (told.approval !== undefined) await kit.tasks.callbacks.succeed(told.approval, '"yes"');
      },
    },
  );

  expect(crashes).toBeGreaterThan(50);
});
