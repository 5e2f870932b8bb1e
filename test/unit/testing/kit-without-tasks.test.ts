import { expect, test } from 'vitest';
import { createTestKit } from '../../../shared/testing/kit.ts';

test('offers the rest of the library without tasks', async () => {
  const kit = createTestKit();
  await using session = await kit.leasehold.session();

  const { kind } = await session.tryLock('nightly');

  expect(kind).toBe('acquired');
  expect((await kit.drain()).ended).toBe('drained');
});
