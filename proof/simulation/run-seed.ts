/** A seed is all there is: profile and history follow from it. */
import { Prng } from '../../test/support/machines/prng.ts';
import type { Profile, ProfileName } from './profile.ts';
import { drawProfile } from './draw-profile.ts';
import type { HistoryOptions, HistoryResult } from './history-result.ts';
import { runHistory } from './world.ts';

export function profileOf(seed: bigint, name: ProfileName): Profile {
  return drawProfile(new Prng(seed).fork('profile'), name);
}

export function runSeed(
  seed: bigint,
  name: ProfileName,
  options: Omit<HistoryOptions, 'seed' | 'profile'> & { readonly changes?: Partial<Profile> } = {},
): Promise<HistoryResult> {
  const { changes, ...rest } = options;
  return runHistory({ ...rest, seed, profile: { ...profileOf(seed, name), ...changes } });
}
