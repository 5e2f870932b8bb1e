/** Log lines for container log collectors: one JSON object per line. */
import type { Clock } from '../core/runtime/clock.ts';
import type { TaskLog } from '../tasks/task/context.ts';
import { logText } from './log-text.ts';

export function jsonLines(clock: Pick<Clock, 'now'>): TaskLog {
  const writing =
    (level: string): TaskLog['info'] =>
    (message, ...extra) => {
      const time = new Date(clock.now()).toISOString();
      const fields = Object.assign({ time, level, message }, ...extra) as Readonly<Record<string, unknown>>;
      process.stdout.write(`${logText(fields)}\n`);
    };
  return { debug: () => undefined, info: writing('info'), warn: writing('warn'), error: writing('error') };
}
