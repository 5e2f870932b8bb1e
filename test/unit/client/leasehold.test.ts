/** The options of a Leasehold. */
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { OLDEST_NODE, ensureNode, readEnvironment } from '../../../shared/core/environment.ts';
import { createLeasehold } from '../../../shared/client/leasehold.ts';

const NOWHERE = { table: 'leasehold', endpoint: 'http://127.0.0.1:9' };

test.each([0, -1, 1.5, NaN, 257, '8', null])('refuses %s shards', (shards) => {
  expect(() => createLeasehold({ ...NOWHERE, shards: shards as number })).toThrow(
    /^shards = .*: must be a whole number from 1 to 256$/,
  );
});

describe('takes omitted options from the environment', () => {
  afterEach(() => vi.unstubAllEnvs());

  test('table, queue and endpoint', () => {
    vi.stubEnv('LEASEHOLD_TABLE', 'from-environment');
    vi.stubEnv('LEASEHOLD_ENDPOINT', 'not a URL');

    expect(() => createLeasehold()).toThrow(/^endpoint "not a URL" is not a URL/);
    expect(createLeasehold({ endpoint: NOWHERE.endpoint }).table).toBe('from-environment');
    expect(createLeasehold({ ...NOWHERE, table: 'given' }).table).toBe('given');
    expect(createLeasehold({ clientConfig: { region: 'local' } }).table).toBe('from-environment');
  });

  test('nothing, if no variable is set', () => {
    expect(readEnvironment({ LEASEHOLD_QUEUE: '' })).toEqual({ table: 'leasehold' });
  });

  test('refuses an invalid number by name', () => {
    expect(() => readEnvironment({ LEASEHOLD_SHARDS: 'four' })).toThrow(
      'LEASEHOLD_SHARDS = "four" is not a whole number',
    );
    expect(readEnvironment({ LEASEHOLD_SHARDS: '4', LEASEHOLD_MAX_CLOCK_SKEW_MS: '500' })).toEqual({
      table: 'leasehold',
      shards: 4,
      maxClockSkew: 500,
    });
  });
});

describe('a Node that is too old', () => {
  test.each(['18.20.8', '20.20.2', '22.11.0'])('is refused by its version: %s', (version) => {
    expect(() => {
      ensureNode(version);
    }).toThrow(`leasehold needs Node 22.12 or later, and this is ${version}: install a current one`);
  });

  test.each(['22.12.0', '22.21.1', '23.0.0', '24.21.0'])('is not %s', (version) => {
    expect(() => {
      ensureNode(version);
    }).not.toThrow();
  });

  test('is the one that the package names', () => {
    const build = readFileSync(new URL('../../../release/build.ts', import.meta.url), 'utf8');

    expect(build).toContain(`engines: { node: '>=${OLDEST_NODE}' }`);
  });

  test('reads the entry of the command as far as the check: it takes no single name from a module of Node', () => {
    const entry = readFileSync(new URL('../../../api/command.ts', import.meta.url), 'utf8');

    expect(entry).not.toMatch(/^import \{[^}]*\} from 'node:/m);
    expect(entry.indexOf('ensureNode()')).toBeLessThan(entry.indexOf('await import('));
  });
});
