import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import type { Ids } from './ids.ts';
import { systemIds } from './ids.ts';
import type { Random } from './random.ts';
import { systemRandom } from './random.ts';

/** Everything the protocol takes from outside, in addition to the store. The simulator replaces all of it. */
export interface Runtime {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
}

export const systemRuntime: Runtime = { clock: systemClock, random: systemRandom, ids: systemIds };
