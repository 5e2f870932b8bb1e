import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';

const WATCH = path.join(import.meta.dirname, '../../support/spin-watch.ts');

test('a process whose promises spin is ended, and what it did is named', () => {
  const program = `
    const { watchSpins } = await import(${JSON.stringify(WATCH)});
    const begins = watchSpins();
    begins('the first');
    await new Promise(setImmediate);
    begins('the second');
    for (;;) await undefined;`;
  const { signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });

  expect(signal).toBe('SIGKILL');
  expect(stderr).toContain('the second SPINS');
});
