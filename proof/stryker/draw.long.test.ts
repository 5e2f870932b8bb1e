/** A hundred changes of `shared/` that nobody chose, by the hash of the commit. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';

const DRAWN = 100;
/** On two otherwise idle cores half an hour is enough; the limit makes no claim about speed. */
const LONGEST_MINUTES = 120;

test(
  'a hundred drawn mutants are judged, and the figure is printed',
  { timeout: LONGEST_MINUTES * 60_000 },
  async () => {
    const argv = ['--draw', String(DRAWN), '--workers', String(availableParallelism()), '--json'];
    const child = spawn(process.execPath, [path.join(import.meta.dirname, 'stryker.ts'), ...argv], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(child, 'close') as Promise<[number]>;
    const output = await text(child.stdout);
    const [code] = await closed;
    console.log(output);

    expect(code).toBe(0);
    expect(JSON.parse(output.trim().split('\n').at(-1) ?? '')).toMatchObject({ drawn: DRAWN });
  },
);
