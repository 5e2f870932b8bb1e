import { execFileSync } from 'node:child_process';

/** The first seed of this commit's own histories. Seeds of the lower tiers are smaller. */
export function seedOfCommit(): bigint {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' });
  return 1_000_000n + BigInt(`0x${commit.slice(0, 10)}`);
}
