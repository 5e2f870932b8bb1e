/** The README's first screen, typed as it stands: its module, its two commands, and what it says that they print. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { runHere, spawnCommand } from '../support/command.ts';
import { ROOT, codeBlocks, documents } from '../support/documents.ts';

const blocks = documents()
  .filter(({ path: file }) => file === 'README.md')
  .flatMap(codeBlocks);
const [module, dev, other, output] = blocks.slice(blocks.findIndex(({ language }) => language === 'ts')).slice(0, 4);

/** Ports, tokens and ids are others each time. */
function withoutAccidents(text: string): string {
  return text
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .trim();
}

test('the first screen of the README does what it says', async () => {
  mkdirSync(path.join(ROOT, '.leasehold'), { recursive: true });
  const folder = mkdtempSync(path.join(ROOT, '.leasehold/readme-'));
  const [, file = ''] = /^npx leasehold dev (\S+)$/m.exec(dev?.code ?? '') ?? [];
  const [, name = '', input = ''] = /^npx leasehold enqueue (\S+) '(.*)'$/m.exec(other?.code ?? '') ?? [];
  writeFileSync(path.join(folder, file), module?.code ?? '');
  // The engine of an installed package, and a port that no other test has.
  const running = spawnCommand({}, ['dev', path.join(folder, file), '--engine', 'memory', '--port', '0']);
  try {
    await running.said(/^tasks /m);
    const endpoint = /LEASEHOLD_ENDPOINT=(\S+)/.exec(running.out())?.[1] ?? '';

    await runHere(['--endpoint', endpoint, 'enqueue', name, input]);
    await running.said(/^done /m);
    await running.said(/^Hello/m);

    expect(withoutAccidents(running.out() + running.err())).toBe(withoutAccidents(output?.code ?? ''));
  } finally {
    running.process.kill('SIGINT');
    await running.ended;
    rmSync(folder, { recursive: true });
  }
});
