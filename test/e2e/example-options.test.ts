/** The options of examples; separate tests check each example's claim. */
import { describe, expect, test } from 'vitest';
import { startExample } from '../support/example-process.ts';

const EXAMPLES = ['examples/tenants/main.ts', 'examples/mutual-exclusion/worker.ts', 'examples/nightly-report/main.ts'];

describe.each(EXAMPLES)('%s', (file) => {
  test.each([
    ['an option that it does not have', ['--typo'], /^error: Unknown option '--typo'/],
    ['a word', ['word'], /^error: Unexpected argument 'word'/],
    ['an endpoint that is dead', ['--endpoint', 'http://127.0.0.1:9'], /^error: endpoint .* did not answer/],
  ])('refuses %s, in a line', async (_what, argv, message) => {
    await using example = startExample(file, argv);

    expect(await example.ended()).toBe(2);
    expect(example.output).toMatch(message);
    expect(example.output.trim().split('\n')).toHaveLength(1);
  });

  test('says which options it has', async () => {
    await using example = startExample(file, ['--help']);

    expect(await example.ended()).toBe(0);
    expect(example.output).toMatch(/^node examples\/\S+ .*\[--endpoint <.*>\]\n$/);
  });
});
