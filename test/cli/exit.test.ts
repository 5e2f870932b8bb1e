/** The command's output for an error. */
import { expect, test } from 'vitest';
import { failureOf } from '../../cli/exit.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { InvalidInputError } from '../../shared/tasks/task/control.ts';

const cause = Object.assign(new Error('not found'), { name: 'ResourceNotFoundException' });

test('an error that names the tables that it missed is left as it is', () => {
  const error = new ConfigurationError('there is no table leasehold or orders', { cause });

  expect(failureOf(error, 'leasehold')).toEqual({ exitCode: 2, message: 'there is no table leasehold or orders' });
});

test('any other of a missing table is about the table of the command', () => {
  expect(failureOf(cause, 'leasehold')).toEqual({
    exitCode: 2,
    message:
      "there is no table leasehold in this account and region: create it with 'leasehold up', or name another with --table",
  });
});

test('reports a refused input with its issues, as JSON for any schema', () => {
  const path = ['rows', 0, { key: 'price' }, Symbol('s')];
  const issues = [{ message: 'too small', path, received: 1n }, { message: 'odd' }];

  expect(failureOf(new InvalidInputError('it does not fit', issues), 'leasehold')).toEqual({
    exitCode: 2,
    message: 'it does not fit',
    issues: [
      { message: 'too small', path: ['rows', 0, 'price', 'Symbol(s)'] },
      { message: 'odd', path: [] },
    ],
  });
});
