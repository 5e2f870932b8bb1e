import { availableParallelism } from 'node:os';
import path from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { builtModules } from './test/support/built-modules.ts';
import { RunReporter } from './test/support/reporter.ts';
import type { Tier } from './test/support/tiers.ts';
import { ALL, LONG, TIERS } from './test/support/tiers.ts';

/** Without a tier, `vitest run PLACE` finds the tests of every tier there; long ones only if PLACE contains `.long`. */
const asksForLong = process.argv.some((argument) => argument.includes('.long'));
const EVERY: Tier = { include: [ALL], exclude: asksForLong ? [] : [LONG] };

// Inherited by every process of a run: loading the AWS SDK takes a third of a second, and half of that from the cache.
process.env.NODE_COMPILE_CACHE ??= path.join(import.meta.dirname, '.leasehold/compile-cache');

/**
 * Tests that do not start processes share one per worker: loading the modules again for each file took a third of their CPU time.
 * Any other file has a separate process, and all that it started ends with it (see local/bind-to-parent.ts).
 */
const SHARING = [
  'test/{unit,conformance}/**',
  'test/{cli,infra}/**/!(*.full).test.ts',
  '{console,consul}/test/{unit,conformance}/**',
  'proof/conjuncts/**',
];

const NOT_SHARING = [
  'test/!(unit|conformance|cli|infra)/**',
  'test/{cli,infra}/**/*.full.test.ts',
  '{console,consul}/test/!(unit|conformance)/**',
  '{console,consul}/test/*.test.ts',
  'proof/!(conjuncts)/**',
];

/** Node loads these as it loads what ships: it strips the types, and nothing else changes them. */
const SOURCES = 'test/unit/**';
const NOT_SOURCES = ['{proof,console,consul}/**', 'test/!(unit)/**'];

export default defineConfig(({ mode }) => {
  const { include, exclude } = mode in TIERS ? TIERS[mode as keyof typeof TIERS] : EVERY;
  const project = (name: string, isolate: boolean, elsewhere: readonly string[], runsSources = false) => ({
    extends: true as const,
    test: {
      name,
      isolate,
      include: [...include],
      exclude: [...configDefaults.exclude, ...exclude, ...elsewhere],
      experimental: { viteModuleRunner: !runsSources },
    },
  });
  return {
    plugins: mode === 'built' ? [builtModules()] : [],
    test: {
      projects: [
        project('sources', false, mode === 'built' ? [ALL] : NOT_SOURCES, true),
        project('shared', false, mode === 'built' ? NOT_SHARING : [...NOT_SHARING, SOURCES]),
        project('alone', true, SHARING),
      ],
      globalSetup: 'test/support/global-setup.ts',
      setupFiles: 'test/support/spin-setup.ts',
      reporters: ['default', new RunReporter()],
      pool: 'forks',
      // Simulated worlds leave much behind that is young: with room for it, a process spends less of its time on collecting.
      execArgv: ['--max-semi-space-size=32'],
      // Many tests wait, for a process or for time to pass: one more at a time than there are cores.
      maxWorkers: availableParallelism() + 1,
      // For what hangs, and never for what is slow: a verdict must not depend on what else the machine does.
      testTimeout: mode === 'long' ? 1_800_000 : 600_000,
      hookTimeout: 600_000,
      expect: { poll: { timeout: 300_000, interval: 50 } },
    },
  };
});
