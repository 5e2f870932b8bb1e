/** Worlds in which something other than the faults differs from the swarm's. */
import type { Prng } from '../../test/support/machines/prng.ts';
import { drawKnobs } from './knobs/turn.ts';
import type { OtherWorld, Profile } from './profile.ts';

/** The parts of a mix: each history of the swarm is one of ten that the others do not take. */
const SHARES: readonly (OtherWorld | 'swarm')[] = [
  ...Array.from({ length: 8 }, () => 'swarm' as const),
  'knobs',
  'knobs',
];

export function worldOf(prng: Prng): OtherWorld | 'swarm' {
  return prng.pick(SHARES);
}

/** Constants are small: pages of two, minutes that are seconds. Half of the worlds have long-lived users as well, and are watched for stalls. */
export function drawKnobsWorld(prng: Prng, swarm: Profile): Profile {
  const knobs = drawKnobs(prng.fork('knobs'), prng.pick([0.05, 0.2, 1]));
  if (prng.chance(0.5)) return { ...swarm, knobs };
  return {
    ...swarm,
    knobs,
    environments: Math.max(2, swarm.environments),
    users: 2,
    thinkMs: prng.logarithmic(200, 2_000),
    settleMs: 40_000,
  };
}
