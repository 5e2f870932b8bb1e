import { test } from 'vitest';
import { signForWeb } from '../../../../shared/dynamo/wire/web-signature.ts';
import { expectSameSignatures } from '../../../support/sdk-signatures.ts';

test('our signature is that of the SDK, for 10,000 random requests', async () => {
  await expectSameSignatures(10_000, 20_261_122);
});

test('our signature by WebCrypto is that of the SDK, for 3,000 random requests', async () => {
  await expectSameSignatures(3_000, 20_261_125, signForWeb);
});
