import { describe, expect, inject, test } from 'vitest';
import { startExample } from '../support/example-process.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('the example of', () => {
  test.each([
    ['webhooks in order per customer', 'webhooks', 5],
    ['a big tenant among small ones', 'tenants', 2],
    ['many small items in few tasks', 'thumbnails', 3],
    ['inputs of any size', 'large-inputs', 3],
    ['work that outlives its functions', 'long-work', 6],
    ['an order as a durable task', 'order', 3],
    ['a batch with a callback and a parent with children', 'fan-in', 6],
    ['define, list and run schedules', 'schedules', 11],
    ['a worker at the edge', 'edge', 4],
    ['invoices that a failing service charges', 'invoices', 8],
  ])('%s keeps what it claims', async (_what, name, claims) => {
    await using example = startExample(`examples/${name}/main.ts`, ['--endpoint', endpoint ?? '']);

    const code = await example.ended();

    expect(code, example.output).toBe(0);
    expect(example.output.match(/ yes {2}/g)).toHaveLength(claims);
    expect(example.output).not.toMatch(/ NO {3}/);
  });
});
