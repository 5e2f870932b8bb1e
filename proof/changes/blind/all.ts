/** All blind bugs. */
import type { BlindBug } from '../change.ts';
import { BY_LATER_READERS } from './by-later-readers.ts';
import { BY_READERS } from './by-readers.ts';

/**
 * Not in the list: N03 and N04, whose own transport was replaced by Node's, and bugs of later readers that one change of StrykerJS makes as
 * well, or that resemble another of the list. Their tests stay.
 * N20 is found in the full tier only.
 */
export const BLIND_BUGS: readonly BlindBug[] = [...BY_READERS, ...BY_LATER_READERS];
