/** All blind bugs. */
import type { BlindBug } from './bug.ts';
import { BY_LATER_READERS } from './by-later-readers.ts';
import { BY_LATER_READERS_OF_SHARED } from './by-later-readers-of-shared.ts';
import { BY_MUTATION } from './by-mutation.ts';
import { BY_READERS_OF_CORE } from './by-readers-of-core.ts';
import { BY_READERS } from './by-readers.ts';
import { BY_READERS_OF_PROGRAMS } from './by-readers-of-programs.ts';
import { BY_READERS_OF_TASKS } from './by-readers-of-tasks.ts';

/**
 * Not in the list: N03 and N04, whose own transport was replaced by Node's; S03 and S04, equivalent, because the row that refuses an
 * acquire also shows that its earlier attempt can never be applied.
 * N20 is found in the full tier only.
 */
export const BLIND_BUGS: readonly BlindBug[] = [
  ...BY_READERS,
  ...BY_LATER_READERS,
  ...BY_READERS_OF_CORE,
  ...BY_READERS_OF_TASKS,
  ...BY_LATER_READERS_OF_SHARED,
  ...BY_READERS_OF_PROGRAMS,
  ...BY_MUTATION,
];
