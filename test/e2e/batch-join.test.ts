import { describe, expect, inject, test } from 'vitest';
import { startExample } from '../support/example-process.ts';

const endpoint = inject('embeddedEndpoint');

/** A session must survive that all its processes together get no time for seconds. */
const ON_A_BUSY_MACHINE = ['--expiry', '12s'];

describe.skipIf(endpoint === null)('the example of a batch that is waited for', () => {
  test('ends when all items are done or lost, though a process is killed with some of them', async () => {
    await using example = startExample('examples/batch-join/main.ts', [
      '--endpoint',
      endpoint ?? '',
      ...ON_A_BUSY_MACHINE,
    ]);

    const code = await example.ended();

    expect(code, example.output).toBe(0);

    expect(example.output).toMatch(/process b is killed, with 4 of its 15 items done/);
    expect(example.output).toMatch(/the batch is complete: 60 items, ([1-9]|1[01]) of them lost/);
    expect(example.output.match(/ yes {2}/g)).toHaveLength(4);
  });
});
