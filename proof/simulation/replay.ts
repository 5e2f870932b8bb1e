/** Replays one seed in full: its violations, the timeline of the affected key, and a smaller reproduction. */
import { execFileSync } from 'node:child_process';
import type { HistoryEvent } from './history.ts';
import type { Violation } from './invariants/rule.ts';
import type { Profile, ProfileName } from './profile.ts';
import { faultsOf } from './profile.ts';
import { profileOf, runSeed } from './run-seed.ts';
import { shrink } from './shrink.ts';
import { timelineOf } from './timeline-of.ts';

interface ReplayOptions {
  readonly seed: bigint;
  readonly profile: ProfileName;
  readonly changes: Partial<Profile>;
}

/** @returns whether the history is right */
export async function replay({ seed, profile, changes }: ReplayOptions): Promise<boolean> {
  const result = await runSeed(seed, profile, { keepHistory: true, changes });
  console.log(`seed ${seed} of ${profile} at commit ${commit()}, trace ${result.digest}`);
  console.log(
    `${result.steps} steps, ${result.requests} requests, ${result.accepted} accepted writes, ${(result.virtualMs / 1000).toFixed(0)} s of virtual time`,
  );
  console.log(`faults: ${describeFaults(result.profile)}`);
  for (const violation of result.violations) printViolation(violation, result.history);
  if (result.violations.length === 0) console.log('no violation');
  return result.violations.length === 0;
}

/** A failure found by a search: shrunk, then told. */
export async function printFailure(seed: bigint, profile: ProfileName): Promise<void> {
  const { violation, changes } = await shrink(seed, profile);
  const result = await runSeed(seed, profile, { keepHistory: true, stopAtViolation: true, changes });
  console.log(`\n${violation.invariant} violated by seed ${seed} of ${profile} at commit ${commit()}`);
  console.log(`faults as drawn: ${describeFaults(profileOf(seed, profile))}`);
  console.log(`faults that it takes: ${describeFaults(result.profile)}`);
  for (const found of result.violations.slice(0, 1)) printViolation(found, result.history);
  const settings = Object.keys(changes).length === 0 ? '' : ` --changes '${JSON.stringify(changes)}'`;
  console.log(`replay: node proof/simulation/simulate.ts --seed ${seed} --profile ${profile}${settings}`);
}

function printViolation(violation: Violation, history: readonly HistoryEvent[]): void {
  console.log(`\n${violation.invariant} at ${violation.at.toFixed(1)} ms, ${violation.row}: ${violation.message}`);
  for (const line of timelineOf(history, violation)) console.log(`  ${line}`);
}

function describeFaults(profile: Profile): string {
  const faults = faultsOf(profile).map((name) => `${name} ${JSON.stringify(round(profile[name]))}`);
  const knobs = Object.entries(profile.knobs).map(([name, value]) => `${name} ${value.toPrecision(3)}`);
  const { environments, concurrency, tasks, ttlMs, maxClockSkewMs, faultyMs } = profile;
  const sizes = `${environments} environments × ${concurrency}, ${tasks} tasks, ttl ${ttlMs}, clock bound ${maxClockSkewMs}, ${faultyMs} ms`;
  return `${[...faults, ...knobs].join(', ') || 'none'} (${sizes})`;
}

function round(value: Profile[keyof Profile]): Profile[keyof Profile] {
  return typeof value === 'number' ? Number(value.toPrecision(3)) : value;
}

function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}
