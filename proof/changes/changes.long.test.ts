/** All changes: seeded bugs, blind bugs, and a hundred that nobody chose, drawn by the hash of the commit. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { BLIND_BUGS } from './blind/all.ts';
import { MUTANTS } from './seeded/all.ts';

/** On two otherwise idle cores half an hour is enough for each; the limit makes no claim about speed. */
const LONGEST_MINUTES = 120;

test.each([
  ['seeded', { mutants: MUTANTS.length, killed: MUTANTS.length }],
  ['blind', { blind: BLIND_BUGS.length, killed: BLIND_BUGS.length }],
  ['drawn', { drawn: 100 }],
])(
  'the changes that are %s are judged, and the figures printed',
  { timeout: LONGEST_MINUTES * 60_000 },
  async (what, figures) => {
    const child = spawn(process.execPath, [path.join(import.meta.dirname, 'main.ts'), what, '--json'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(child, 'close') as Promise<[number]>;
    const output = await text(child.stdout);
    const [code] = await closed;
    console.log(output);

    expect(code).toBe(0);
    expect(JSON.parse(output.trim().split('\n').at(-1) ?? '')).toMatchObject(figures);
  },
);
