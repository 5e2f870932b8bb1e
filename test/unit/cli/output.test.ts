/** The command's output and its end: boundaries of its words, and each error's exit code. */
import type { Option } from 'commander';
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { jsonInput, spanOption } from '../../../cli/arguments.ts';
import { confirm, nameAtTheKeyboard, operatorOf } from '../../../cli/confirm.ts';
import type { Context } from '../../../cli/context.ts';
import { CommandError, exitCodeOfSignal, failureOf } from '../../../cli/exit.ts';
import { list } from '../../../cli/listing.ts';
import {
  Output,
  counted,
  factsOf,
  momentAndAge,
  plural,
  printable,
  printableLines,
  relative,
  shortened,
  span,
  tableOf,
  untilText,
} from '../../../cli/output.ts';
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
function written(isTTY = false, isJson = false) {
  const told = { out: '', err: '' };
  const into = (name: keyof typeof told) => {
    const write = (text: string, _encoding: string, done: () => void): void => {
      told[name] += text;
      done();
    };
    return Object.assign(new Writable({ decodeStrings: false, write }), { isTTY }) as unknown as NodeJS.WriteStream;
  };
  return { told, output: new Output({ isJson, out: into('out'), err: into('err') }) };
}

describe('a list', () => {
  async function* rows(count: number) {
    for (let n = 0; n < count; n++) yield await Promise.resolve({ n });
  }

  test.each([
    [2, ''],
    [3, 'shows the first 2 of more (see --limit)\n'],
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
])('asks only at a terminal: stdin a terminal %s, stderr %s', async (stdin, stderr) => {
  const { told, output } = written(stderr);
  const context = { stdin: { isTTY: stdin }, output } as unknown as Context;

  await expect(confirm(context, 'takes away the lock', 'k', {})).rejects.toThrow('confirm it with --yes "k"');
  expect(told).toEqual({ out: '', err: '' });
});

describe('an output', () => {
  const value = { id: 2n ** 60n, names: new Set(['a', 'b']), text: 'red \u001b[31m', none: undefined };

  test('for people is a text, with notes and errors beside it', () => {
    const { told, output } = written();

    output.answer(value, () => 'two names');
    output.note('more');
    output.error('it has \u001b[31m', 2);

    expect(told).toEqual({ out: 'two names\n', err: 'more\nerror: it has \\u001b[31m\n' });
  });

  test('for programs is one value, without notes, and an error is one as well', () => {
    const { told, output } = written(false, true);

    output.answer(value, () => 'two names');
    output.note('more');
    output.error('it has "quotes"', 2);

    expect(JSON.parse(told.out)).toEqual({ id: String(2n ** 60n), names: ['a', 'b'], text: 'red \u001b[31m' });
    expect(told.out).not.toContain('\u001b');
    expect(told.err).toBe('{"error":"it has \\"quotes\\"","exitCode":2}\n');
  });

  test.each<[string, string]>([
    [relative(1_000, 1_000), '0.0s ago'],
    [relative(1_000, 6_000), '5.0s ago'],
    [relative(6_000, 1_000), 'in 5.0s'],
    [momentAndAge(0, 60_000), '1970-01-01T00:00:00.000Z (60s ago)'],
    [untilText(null, 0), 'it is destroyed: it has no TTL'],
    [untilText(30_000, 0), 'in 30s, unless it is renewed'],
    [plural(0, 'task'), '0 tasks'],
    [plural(1, 'task'), '1 task'],
    [plural(1_234, 'entry', 'entries'), '1,234 entries'],
    [counted(0, true), '0'],
    [counted(1_000, true), '1,000 or more'],
    [counted(1_000, false), '1,000'],
    [shortened('abcde', 5), 'abcde'],
    [shortened('abcdef', 5), 'abcd…'],
    [printable('a\u0000b\u202ec\ud800'), 'a\\u0000b\\u202ec\ufffd'],
    [printableLines('a\nb\tc'), 'a\nb\\u0009c'],
    [
      factsOf([
        ['a', '1'],
        ['long', undefined],
        ['bcd', '2'],
      ]),
      'a    1\nbcd  2',
    ],
    [
      tableOf(
        ['id', 'n'],
        [
          ['a', '10'],
          ['long', ''],
        ],
      ),
      'ID    N\na     10\nlong',
    ],
  ])('writes %j', (text, wanted) => {
    expect(stripVTControlCharacters(text)).toBe(wanted);
  });
});

test('an error of nobody brings its stack for a report, and a known one does not', () => {
  const known = new ConfigurationError('wrong');
  const own = new TypeError('a bug');

  expect(failureOf(known, 'leasehold')).toEqual({ exitCode: 2, message: 'wrong' });
  expect(failureOf(own, 'leasehold')).toEqual({ exitCode: 1, message: 'a bug', stack: own.stack });
  expect(failureOf('thrown', 'leasehold')).toEqual({ exitCode: 1, message: 'thrown' });
  expect([exitCodeOfSignal(2), exitCodeOfSignal(15)]).toEqual([130, 143]);
});

test('an action is confirmed by the whole name, and is of who is named or at the keyboard', async () => {
  const context = { stdin: { isTTY: false }, output: written().output } as unknown as Context;
  const confirmed = (yes: string) => confirm(context, 'takes away the lock', 'k', { yes });

  await confirmed('k');
  for (const yes of ['', 'K', 'k2'])
    await expect(confirmed(yes)).rejects.toMatchObject({
      exitCode: 2,
      message: `not confirmed: this takes away the lock k, and you typed ${yes}; nothing was done`,
    });
  expect(operatorOf({ by: 'ada', reason: 'r' })).toEqual({ by: 'ada', reason: 'r' });
  expect(operatorOf({ reason: 'r' })).toEqual({ by: nameAtTheKeyboard(), reason: 'r' });
});

test.each(['1e999', '-1e999', '{"a":[1e999]}'])(
  'the number in %s is not an input, because JSON cannot store it',
  (text) => {
    expect(() => jsonInput(text)).toThrow('the input is not JSON: a number in it is too large');
  },
);
