/** In a separate process: histories of the default mix with a drawn mutant in the code. Exit code 1: one was violated, or fell over. */
import { registerHooks } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeTurnable } from '../simulation/knobs/turn.ts';
import { drawnByEnvironment, spliced } from './drawn.ts';

const drawn = drawnByEnvironment();
const target = drawn === undefined ? '' : path.resolve(import.meta.dirname, '../..', drawn.file);

// Before the hook that makes constants variables: that one adds to the source, and this one counts on it.
registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (drawn === undefined || !url.startsWith('file:') || fileURLToPath(url) !== target || !loaded.source)
      return loaded;
    const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
    return { ...loaded, source: spliced(text, drawn) };
  },
});
makeTurnable();
const { runSeed } = await import('../simulation/run-seed.ts');

const [histories = '1'] = process.argv.slice(2);
for (let seed = 1; seed <= Number(histories) && process.exitCode === undefined; seed++) {
  const { violations } = await runSeed(BigInt(seed), 'mix');
  if (violations.length > 0) process.exitCode = 1;
}
