/** A module of tasks with what surrounds them. */
import { defineSchedule } from '../../../shared/tasks/schedule/declaration.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import type { TaskEvents } from '../../../shared/tasks/run/events.ts';
import type { TaskMiddleware } from '../../../shared/tasks/task/middleware.ts';

export const greet = defineTask({ name: 'greet', run: (input) => `hello ${String(input)}` });

export const middleware: readonly TaskMiddleware[] = [
  {
    after: (attempt) => {
      attempt.result = `<${String(attempt.result)}>`;
    },
  },
];

export const settled: string[] = [];
export const events: TaskEvents = {
  onSettled: ({ id }, settlement) => {
    settled.push(`${id} ${settlement}`);
  },
};

export const schedules = [defineSchedule('yearly', greet, 'Ada', { cron: '0 3 1 1 *', zone: 'Europe/Berlin' })];
