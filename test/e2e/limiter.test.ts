import { describe, expect, inject, test } from 'vitest';
import { startExample } from '../support/example-process.ts';

const endpoint = inject('embeddedEndpoint');

/** A session must survive that all its processes together get no time for seconds. */
const ON_A_BUSY_MACHINE = ['--expiry', '12s'];

describe.skipIf(endpoint === null)('the example of a limited vendor', () => {
  test('never has more than fifteen of forty workers at work, and the slots of the killed come back', async () => {
    await using example = startExample('examples/limiter/main.ts', [
      '--endpoint',
      endpoint ?? '',
      ...ON_A_BUSY_MACHINE,
    ]);

    const code = await example.ended();

    expect(code, example.output).toBe(0);

    expect(example.output).toMatch(/process a is killed, with [1-9]/);
    expect(example.output).toContain('†');
    expect(example.output.match(/ yes {2}/g)).toHaveLength(5);
    expect(example.output).not.toMatch(/ NO {3}/);
  });
});
