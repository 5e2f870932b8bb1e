import { expect, inject, test } from 'vitest';
import { runChaos } from './run.ts';

const endpoint = inject('dynamodbLocalEndpoint');

test.skipIf(endpoint === null)('chaos keeps every promise for minutes, while naive code loses', async () => {
  const result = await runChaos({ endpoint: endpoint ?? '', minutes: 4, seed: 11 });

  expect(result).toMatchObject({ broken: {}, missed: [], kept: true });
  expect(result.controlLosses).toBeGreaterThan(0);
});
