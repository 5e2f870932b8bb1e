/** Parts of the command that may be taken away, in the order in which help names them: each is a folder, and a line here. */
import type { Satellites } from '../cli/context.ts';

export const SATELLITES: Satellites = {
  console: () => import('../console/command.ts'),
  consul: () => import('../consul/command.ts'),
};
