import { inject, describe, expect, test } from 'vitest';
import type { Example } from '../support/example-process.ts';
import { startExample } from '../support/example-process.ts';

const endpoint = inject('embeddedEndpoint');
const WORKER = 'examples/mutual-exclusion/worker.ts';

/** Short, so that the test is, and long enough for a holder that is only slow; the clock bound of a second comes on top of each. */
const TTL_MS = 6_000;
const LOCK_DELAY_MS = 1_000;

describe.skipIf(endpoint === null)('the example of mutually exclusive workers', () => {
  let count = 0;
  const start = (task: string, ...options: string[]): Example =>
    startExample(WORKER, [
      ...['--endpoint', endpoint ?? '', '--task', task],
      ...['--ttl', `${TTL_MS}ms`, '--lock-delay', `${LOCK_DELAY_MS}ms`, ...options],
    ]);
  const nameTask = (): string => `task-${process.pid}-${++count}`;

  test('lets one work, and tells the other that it can not, and who does', async () => {
    const task = nameTask();
    await using first = start(task);
    await first.said(/I can work \(fencing token \d+\)/);
    const session = /session (\S+)/.exec(first.output)?.[1] ?? '';
    await using second = start(task);

    expect(await second.ended()).toBe(0);

    expect(second.output).toMatch(new RegExp(`I can NOT work: .*: held since .* by session ${session}`));
    expect(first.isRunning).toBe(true);
  });

  test('lets the next one work at once after Ctrl+C', async () => {
    const task = nameTask();
    await using first = start(task);
    await first.said(/I can work/);
    first.kill('SIGINT');
    expect(await first.ended()).toBe(0);
    expect(first.output).toContain('interrupted: giving back the lock');

    await using next = start(task, '--work', '10ms');

    expect(await next.ended()).toBe(0);
    expect(next.output).toMatch(/I can work[^]*done/);
  });

  test('lets the next worker continue after the TTL and lock-delay of a killed one', async () => {
    const task = nameTask();
    await using first = start(task);
    await first.said(/I can work/);
    const killedAt = performance.now();
    first.kill('SIGKILL');
    await first.ended();
    await using next = start(task, '--wait', '5m', '--work', '10ms');

    await next.said(/I can work/);

    // The last renewal may be a heartbeat old.
    const waitedMs = performance.now() - killedAt;
    expect(waitedMs).toBeGreaterThanOrEqual(TTL_MS - TTL_MS / 3 + LOCK_DELAY_MS);
    expect(await next.ended()).toBe(0);
  });
});
