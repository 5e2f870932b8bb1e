import { inject, describe, expect, test } from 'vitest';
import { startExample } from '../support/example-process.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('the example of a rate limit that processes share', () => {
  test('makes all calls, and never more than the vendor allows in any span of time', async () => {
    await using example = startExample('examples/rate-limited-api/main.ts', ['--endpoint', endpoint ?? '']);

    expect(await example.ended(), example.output).toBe(0);

    expect(example.output).toContain('yes  100 calls were made');
    expect(example.output.match(/^ {2}yes {2}/gm)).toHaveLength(3);
  });
});
