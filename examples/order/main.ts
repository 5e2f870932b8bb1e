/**
 * An order as a durable task: steps that are not repeated, an approval, and a wait of an hour that takes no time here.
 *
 *   node examples/order/main.ts
 *
 * Its worker is killed before each request of its whole life, and after it. Whenever that is, the order ends in the same way.
 */
import assert from 'node:assert/strict';
import { createTestKit } from 'leasehold/testing';
import { check } from '../claims.ts';
import { STOCK, bank, mailbox, order, ship } from './tasks.ts';

const ITEMS = ['a book', 'a lamp'];
const kit = createTestKit({ tasks: { order, ship }, tables: [{ name: STOCK, partitionKey: 'id' }] });
let mostRequests = 0;
const stocks = new Set<string>();

const approve = async (): Promise<void> => {
  if (mailbox.callbackId !== undefined) await kit.tasks.callbacks.succeed(mailbox.callbackId, 'Ada');
};

const { crashes } = await kit.everyCrash(
  order,
  { order: 'o-1', items: ITEMS },
  ({ task }) => {
    assert.equal(task.state, 'done');
    assert.deepEqual(task.result, {
      charge: 'charge 1',
      approvedBy: 'Ada',
      packed: ['packed a book', 'packed a lamp'],
      parcel: 'parcel of o-1',
    });
    stocks.add(JSON.stringify(kit.rows(STOCK)));
    assert.equal(bank.charges.size, 1);
    mostRequests = Math.max(mostRequests, bank.requests);
  },
  {
    before: () => {
      bank.charges.clear();
      bank.requests = 0;
      mailbox.callbackId = undefined;
    },
    idle: approve,
  },
);

check(crashes > 100, `the order ends in the same way after each of ${crashes} crashes, from the charge to the parcel`);
check(
  mostRequests === 2,
  'a crash between the bank and the record asks the bank again, with the same key, and no other does',
);
check(
  stocks.size === 1 && stocks.has('[{"id":"o-1","reserved":2}]'),
  'the stock was reserved once each time, because that write and the record of its step are one transaction',
);
