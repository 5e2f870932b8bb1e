/**
 * In a separate process: histories of the default mix with a drawn mutant in the code. Exit code 1: one was violated, or fell over.
 */
import { bugOfEnvironment } from '../matrix/bug-of-environment.ts';
import { loadWith } from '../matrix/load.ts';
import { makeTurnable } from '../simulation/knobs/turn.ts';

// Before the hook that makes constants variables: that one adds to the source, and this one counts on it.
loadWith(bugOfEnvironment());
makeTurnable();
const { runSeed } = await import('../simulation/run-seed.ts');

const [histories = '1'] = process.argv.slice(2);
for (let seed = 1; seed <= Number(histories) && process.exitCode === undefined; seed++) {
  const { violations } = await runSeed(BigInt(seed), 'mix', { stopAtViolation: true });
  if (violations.length > 0) process.exitCode = 1;
}
