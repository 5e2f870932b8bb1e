/** The example of invoices as its user tests it: in memory, with a crash at each request of tasks that hold a lock and a permit. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { placeOrder } from '../../examples/invoices/api.ts';
import * as invoices from '../../examples/invoices/tasks.ts';
import { ORDERS } from '../../examples/invoices/orders.ts';
import { createTestKit } from '../../shared/testing/kit.ts';

const ORDER = { id: 'o-1', account: 'a', card: 'c', cents: 500 };
const charged = new Map<string, number>();
/** The next answer of the payment service. */
let answers: (() => Response)[] = [];

beforeEach(() => {
  charged.clear();
  answers = [];
  vi.stubGlobal('fetch', async (_url: string, { headers, signal }: RequestInit) => {
    signal?.throwIfAborted();
    const key = String(new Headers(headers).get('idempotency-key'));
    charged.set(key, (charged.get(key) ?? 0) + 1);
    return answers.shift()?.() ?? new Response('charged');
  });
});
afterEach(() => vi.unstubAllGlobals());

const { invoice, statement, closeDay, schedules } = invoices;
const open = () =>
  createTestKit({
    tasks: { invoice, statement, closeDay, schedules },
    tables: [{ name: ORDERS, partitionKey: 'id' }],
    startsAt: new Date('2026-03-01T00:00:00Z'),
  });

test('takes an order once, and names the field of a bad one', async () => {
  const kit = open();

  expect(await placeOrder(kit.leasehold, ORDER)).toEqual({ status: 202, body: 'invoice/o-1' });
  expect(await placeOrder(kit.leasehold, ORDER)).toMatchObject({ status: 200 });
  expect(await placeOrder(kit.leasehold, { ...ORDER, cents: 0 })).toMatchObject({
    status: 400,
    body: [{ path: ['cents'] }],
  });
  kit.put(ORDERS, { id: 'o-2' });
  expect(await placeOrder(kit.leasehold, { ...ORDER, id: 'o-2' })).toMatchObject({ status: 409 });
  expect(kit.rows(ORDERS)).toEqual(expect.arrayContaining([{ ...ORDER, state: 'new' }, { id: 'o-2' }]));
});

test('a payment that fails is made again under its key, and then stated', async () => {
  const kit = open();
  answers = [() => new Response('busy', { status: 503 }), () => new Response('lost', { status: 500 })];
  for (const id of ['o-1', 'o-2']) await placeOrder(kit.leasehold, { ...ORDER, id });

  for (let times = 0; times < 3; times++) {
    await kit.drain();
    await kit.advance('10s');
  }

  expect([...charged.keys()]).toEqual(['invoice/o-1', 'invoice/o-2']);
  expect(kit.rows(ORDERS)).toEqual(
    expect.arrayContaining([
      { ...ORDER, state: 'paid', charges: 1 },
      { id: 'statement/a', lines: ['o-1', 'o-2'] },
    ]),
  );
});

test('is paid and stated once, wherever its worker is killed', async () => {
  const kit = open();
  kit.put(ORDERS, { ...ORDER, state: 'new' });

  const report = await kit.everyCrash(
    invoice,
    ORDER,
    ({ task }) => {
      expect(task.state).toBe('done');
      expect([...charged.keys()]).toEqual(['invoice/o-1']);
      expect(kit.rows(ORDERS)).toEqual(
        expect.arrayContaining([
          { ...ORDER, state: 'paid', charges: 1 },
          { id: 'statement/a', lines: ['o-1'] },
        ]),
      );
    },
    { before: () => charged.clear(), enqueue: { id: 'invoice/o-1' }, timePasses: true },
  );

  expect(report.requests).toEqual(expect.arrayContaining(['lock.acquire', 'task.commit']));
  expect(report.requests.some((verb) => verb.startsWith('semaphore.'))).toBe(true);
  expect(report.crashes).toBe(2 * report.requests.length);
});

test('a night is closed once', async () => {
  const kit = open();

  await kit.advance('3h');
  expect(await kit.tick()).toBe(1);
  await kit.drain();

  expect(kit.rows(ORDERS)).toEqual([{ id: 'night/2026-03-01', closed: 1 }]);
});
