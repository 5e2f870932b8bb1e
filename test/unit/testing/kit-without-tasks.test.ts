import { expect, test } from 'vitest';
import { createTestKit } from '../../../shared/testing/kit.ts';

test('a kit without tasks has the rest of the library', async () => {
  const kit = createTestKit();
  await using session = await kit.leasehold.session();

  const { kind } = await session.tryLock('nightly');

  expect(kind).toBe('acquired');
  expect((await kit.drain()).ended).toBe('drained');
});
