/**
 * Tests without projects and reporter, for tools that run the same files many times: blind bugs and Stryker.
 * Engines start only for folders whose tests need one. `BLIND_BUG` names a bug to put into the sources.
 */
import path from 'node:path';
import { defineConfig } from 'vitest/config';
import { BLIND_BUGS } from './blind/bugs.ts';
import { swapped } from './blind/swap.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const needsEngine = process.argv.some((argument) => /^test\/(?:conformance|functions|cli)\b/.test(argument));
const bug = BLIND_BUGS.find(({ id }) => id === process.env.BLIND_BUG);

export default defineConfig({
  root: ROOT,
  plugins:
    bug === undefined
      ? []
      : [
          {
            name: 'blind-bug',
            enforce: 'pre',
            transform: (source, id) => swapped(source, path.relative(ROOT, id.split('?')[0] ?? id), bug),
          },
        ],
  test: {
    include: ['test/{unit,conformance,functions,cli}/**/*.test.ts', 'proof/simulation/*.test.ts'],
    globalSetup: needsEngine ? 'test/support/global-setup.ts' : [],
    pool: 'forks',
    maxWorkers: 1,
    isolate: false,
    // A cache on disk would keep the bug of one run for the next.
    fsModuleCache: false,
    bail: 1,
    testTimeout: 20_000,
    ...(needsEngine ? {} : { provide: { dynamodbLocalEndpoint: null, embeddedEndpoint: null, missingEngines: [] } }),
  },
});
