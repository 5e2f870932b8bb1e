import { inject, describe, expect, test } from 'vitest';
import { startExample } from '../support/example-process.ts';

const endpoint = inject('embeddedEndpoint');

/** A session must survive that all its processes together get no time for seconds. */
const ON_A_BUSY_MACHINE = ['--expiry', '12s'];

describe.skipIf(endpoint === null)('the example of a nightly report', () => {
  test('writes it once a night: started twice, and again with its leader killed while it writes', async () => {
    await using example = startExample('examples/nightly-report/main.ts', [
      '--endpoint',
      endpoint ?? '',
      ...ON_A_BUSY_MACHINE,
    ]);

    expect(await example.ended(), example.output).toBe(0);

    expect(example.output.match(/^ {2}yes {2}/gm)).toHaveLength(3);
    expect(example.output).toContain('the leader is killed while it writes');
    const terms = [...example.output.matchAll(/leads in term (\d+)/g)].map(([, term]) => Number(term));
    expect(terms).toHaveLength(4);
    expect(terms).toEqual([...new Set(terms)].toSorted((a, b) => a - b));
  });
});
