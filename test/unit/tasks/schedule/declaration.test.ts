import { describe, expect, test } from 'vitest';
import { taskModuleOf } from '../../../../shared/tasks/run/task-module.ts';
import { defineSchedule } from '../../../../shared/tasks/schedule/declaration.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';

const report = defineTask({ name: 'report', run: (_: { readonly kind: string }) => undefined });
const nightly = defineSchedule('nightly', report, { kind: 'sales' }, { cron: '0 3 * * *' });

describe('a declared schedule', () => {
  test('is exported by a module next to its tasks', () => {
    expect(taskModuleOf({ report, schedules: [nightly] }).schedules).toEqual([
      {
        kind: 'leasehold.schedule',
        name: 'nightly',
        task: report,
        input: { kind: 'sales' },
        options: { cron: '0 3 * * *' },
      },
    ]);
    expect(taskModuleOf({ report }).schedules).toEqual([]);
  });

  test.each([
    ['an option that is misspelt', { cron: '0 3 * * *', zones: 'UTC' }, 'did you mean zone?'],
    ['no options', undefined, 'the options of schedule nightly are undefined'],
  ])('is refused with %s', (_what, options, message) => {
    expect(() => defineSchedule('nightly', report, { kind: 'sales' }, options as never)).toThrow(message);
  });

  test.each([
    ['one that is not in a list', nightly, 'exports schedules = '],
    [
      'an object that only looks like one',
      [{ name: 'nightly', cron: '0 3 * * *' }],
      'must be a list of defineSchedule(',
    ],
    ['nothing at all', [undefined], 'must be a list of defineSchedule('],
    ['two of one name', [nightly, nightly], 'two of them are named "nightly"'],
  ])('of a module is refused as %s', (_what, schedules, message) => {
    expect(() => taskModuleOf({ report, schedules })).toThrow(message);
  });
});
