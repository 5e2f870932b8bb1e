import { expect, inject, test } from 'vitest';
import { runChaos } from './run.ts';

const endpoint = inject('dynamodbLocalEndpoint') ?? inject('embeddedEndpoint');

test.skipIf(endpoint === null)(
  'workers that are killed and frozen behind a faulty network lose nothing, run nothing twice and keep their promises',
  { timeout: 20 * 60_000 },
  async () => {
    // Until each kind of fault was met.
    const { broken, missed, healedSeconds } = await runChaos({ endpoint: endpoint ?? '', minutes: 0.25, seed: 5 });

    expect({ broken, missed }).toEqual({ broken: {}, missed: [] });
    expect(healedSeconds).not.toBeNull();
  },
);
