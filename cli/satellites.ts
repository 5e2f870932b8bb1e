/** Commands of what stands on the library and may be taken away: a line each. */
import type { LoadCommand } from './context.ts';

export const SATELLITES: Readonly<Record<string, LoadCommand>> = {
  console: async () => (await import('../console/command.ts')).consoleCommand,
  consul: async () => (await import('../consul/command.ts')).consulCommand,
};
