import { describe, expect, inject, test } from 'vitest';
import { startExample } from '../../support/example-process.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('the example of tasks in bulk', () => {
  test('makes each thumbnail once, though a worker is killed, and keeps damaged pictures apart', async () => {
    await using example = startExample('examples/bulk/main.ts', ['--endpoint', endpoint ?? '']);

    const code = await example.ended();

    expect(code, example.output).toBe(0);
    expect(example.output).toMatch(/400 thumbnails are enqueued in 25 packs, for 50 write units/);
    expect(example.output).toMatch(/a worker is killed, when \d+ are done/);
    expect(example.output.match(/ yes {2}/g)).toHaveLength(3);
  });
});
