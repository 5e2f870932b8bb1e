import { test } from 'vitest';
import { expectSameSignatures } from '../../../support/sdk-signatures.ts';

test('our signature is that of the SDK, for 10,000 random requests', async () => {
  await expectSameSignatures(10_000, 20_261_122);
});
