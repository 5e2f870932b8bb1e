import { configDefaults, defineConfig } from 'vitest/config';

/**
 * Two tiers: `vitest run` takes everything but the long one, `vitest run --mode long` takes only the long one.
 * A long test is a file named `*.long.test.ts`: chaos, soak and large simulations.
 */
const LONG = 'test/**/*.long.test.ts';

export default defineConfig(({ mode }) => {
  const isLong = mode === 'long';
  return {
    test: {
      include: [isLong ? LONG : 'test/**/*.test.ts'],
      exclude: [...configDefaults.exclude, ...(isLong ? [] : [LONG])],
      globalSetup: 'test/support/global-setup.ts',
      // A process for each file: whatever the file started ends with it (see local/leash.ts).
      pool: 'forks',
      // Real processes on a busy machine: a test that hangs is found all the same.
      testTimeout: isLong ? 600_000 : 60_000,
      hookTimeout: 60_000,
    },
  };
});
