import type { TaskLog } from '../tasks/task/context.ts';

export const silent: TaskLog = { debug: ignore, info: ignore, warn: ignore, error: ignore };

function ignore(): void {
  // A log without a reader.
}
