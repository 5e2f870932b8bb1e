/** What the command prints, and how it ends: boundaries of its words, and each error's exit code. */
import type { Option } from 'commander';
import { describe, expect, test } from 'vitest';
import { jsonInput, spanOption } from '../../../cli/arguments.ts';
import { confirm } from '../../../cli/confirm.ts';
import type { Context } from '../../../cli/context.ts';
import { CommandError, failureOf } from '../../../cli/exit.ts';
import { list } from '../../../cli/listing.ts';
import { Output, span } from '../../../cli/output.ts';
import { LockUnavailableError } from '../../../shared/coordination/lock/lock-record.ts';
import {
  ClockSkewError,
  ConfigurationError,
  MismatchError,
  StoreUnavailableError,
} from '../../../shared/core/errors.ts';

test.each([
  [0, '0.0s'],
  [9_900, '9.9s'],
  [10_000, '10s'],
  [119_000, '119s'],
  [120_000, '2m'],
  [7_140_000, '119m'],
  [7_200_000, '2h'],
  [171_000_000, '48h'],
  [172_800_000, '2d'],
  [-30_000, '30s'],
])('%d ms are shown as %s', (ms, text) => {
  expect(span(ms)).toBe(text);
});

test('help shows the default of a time with its unit', () => {
  const option: Option = spanOption('--every <span>', 'how often', 90_000);

  expect(option).toMatchObject({ defaultValue: 90_000, defaultValueDescription: '90s' });
});

test.each<[Error, number]>([
  [new ConfigurationError('wrong'), 2],
  [Object.assign(new Error('no table'), { name: 'ResourceNotFoundException' }), 2],
  [new CommandError(76, 'lost'), 76],
  [new StoreUnavailableError('away', { applied: 'no' }), 3],
  [new MismatchError('task a', 'changed since'), 5],
  [new ClockSkewError(900, 1_000), 5],
  [new LockUnavailableError({ kind: 'delayed', key: 'k', until: 1 }, 0), 75],
  [new TypeError('a bug'), 1],
])('the command ends after %o with exit code %d', (error, exitCode) => {
  expect(failureOf(error, 'leasehold')).toMatchObject({ exitCode });
});

test('an input that is not JSON tells why, and keeps the error of the parser', () => {
  expect(() => jsonInput('{"a":')).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', cause: expect.any(SyntaxError) as unknown }),
  );
});

/** Streams that keep what is written to them. */
function written(isTTY = false) {
  const told = { out: '', err: '' };
  const into = (name: keyof typeof told) =>
    ({ isTTY, write: (text: string) => (told[name] += text) }) as unknown as NodeJS.WriteStream;
  return { told, output: new Output({ isJson: false, out: into('out'), err: into('err') }) };
}

describe('a list', () => {
  async function* rows(count: number) {
    for (let n = 0; n < count; n++) yield await Promise.resolve({ n });
  }

  test.each([
    [2, ''],
    [3, 'the first 2: there are more (see --limit)\n'],
  ])('of %d rows with a limit of two says %j', async (count, note) => {
    const { told, output } = written();

    await list(rows(count), { limit: 2 }, { n: ({ n }) => String(n) }, output, 'none');

    expect(told.out.trim().split('\n')).toHaveLength(3);
    expect(told.err).toBe(note);
  });
});

test.each([
  [false, true],
  [true, false],
])('nothing is asked where nobody reads it or answers: stdin a terminal %s, stderr %s', async (stdin, stderr) => {
  const { told, output } = written(stderr);
  const context = { stdin: { isTTY: stdin }, output } as unknown as Context;

  await expect(confirm(context, 'takes away the lock', 'k', {})).rejects.toThrow('confirm it with --yes "k"');
  expect(told).toEqual({ out: '', err: '' });
});
