import { inject, describe, expect, test } from 'vitest';
import { startExample } from '../support/example-process.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('the example of an hourly job server', () => {
  test('prices each order exactly once, though each hour is started twice and a worker is killed at work', async () => {
    await using example = startExample('examples/job-server/main.ts', ['--endpoint', endpoint ?? '']);

    expect(await example.ended(), example.output).toBe(0);

    expect(example.output).toContain('a worker is killed at work');
    expect(example.output.match(/ yes {2}/g)).toHaveLength(5);
    expect(example.output).not.toMatch(/ NO {3}/);
  });
});
