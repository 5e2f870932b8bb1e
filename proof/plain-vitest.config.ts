/**
 * Tests without projects and reporter, for tools that run the same files many times with changed sources.
 * Engines start only for folders whose tests need one. `PLAIN_TESTS` names folders and files of tests, where a tool cannot pass them.
 * `LEASEHOLD_CHANGE` is the change in the sources, as JSON.
 * `PLAIN_ENGINE` is the endpoint of an embedded engine that runs already.
 */
import path from 'node:path';
import { defineConfig } from 'vitest/config';
import { changedByEnvironment } from './changes/load.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
/** Read sources as text, bundle them, or start processes. */
const NOT_PLAIN = [
  'architecture',
  'edges',
  'client/edge/bundle',
  'client/edge/imports',
  'oldest-node',
  'run-child',
].map((name) => `test/unit/**/${name}.test.ts`);
const tests = process.env.PLAIN_TESTS?.split(',').map((place) =>
  place.endsWith('.ts') ? place : `${place}/**/*.test.ts`,
);
const isOfAnyTier = tests?.some((place) => /\.(?:full|long)\.test\.ts$/.test(place)) ?? true;
const needsEngine = process.argv.some((argument) =>
  /^(?:test\/(?:conformance|functions|cli)|console)\b/.test(argument),
);
const withChange = changedByEnvironment();

export default defineConfig({
  root: ROOT,
  plugins: [
    {
      name: 'change',
      enforce: 'pre',
      transform: (source, id) => withChange(source, path.relative(ROOT, id.split('?')[0] ?? id)),
    },
  ],
  test: {
    include: tests ?? [
      'test/{unit,conformance,functions,cli,infra}/**/*.test.ts',
      'console/test/unit/**/*.test.ts',
      'proof/simulation/**/*.test.ts',
    ],
    exclude: isOfAnyTier ? NOT_PLAIN : [...NOT_PLAIN, '**/*.{full,long}.test.ts'],
    globalSetup: needsEngine ? 'test/support/global-setup.ts' : [],
    setupFiles: 'test/support/spin-setup.ts',
    pool: 'forks',
    maxWorkers: 1,
    isolate: false,
    // A cache on disk would keep the change of one run for the next.
    fsModuleCache: false,
    bail: 1,
    testTimeout: 60_000,
    ...(needsEngine
      ? {}
      : {
          provide: {
            dynamodbLocalEndpoint: null,
            embeddedEndpoint: process.env.PLAIN_ENGINE ?? null,
            missingEngines: [],
          },
        }),
  },
});
