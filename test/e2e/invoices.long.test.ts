import { expect, inject, test } from 'vitest';
import { startExample } from '../support/example-process.ts';

const endpoint = inject('embeddedEndpoint');

test.skipIf(endpoint === null)('charges each of 300 orders exactly once, after two kills and a hang', async () => {
  const args = ['--orders', '300', '--endpoint', endpoint ?? ''];
  await using example = startExample('examples/invoices/main.ts', args);

  expect(await example.ended(), example.output).toBe(0);
  expect(example.output.match(/ yes {2}/g)).toHaveLength(8);
  expect(example.output.match(/a worker is killed at work/g)).toHaveLength(2);
});
