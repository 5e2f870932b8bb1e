import type { TaskLog } from '../../shared/tasks/task/context.ts';
import type { Output } from '../output.ts';
import { printable } from '../output.ts';

/** What task code logs, beside the command's answer; what workers say to debug them stays unsaid. */
export function logTo(output: Output): TaskLog {
  const write =
    (level: string) =>
    (message: string, ...extra: Record<string, unknown>[]): void =>
      output.note(printable([level, message, ...extra.map((fields) => JSON.stringify(fields))].join(' ')));
  return { debug: () => undefined, info: write('info'), warn: write('warn'), error: write('error') };
}
