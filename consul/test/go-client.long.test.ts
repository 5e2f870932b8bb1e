/** HashiCorp's own Go client against two gateways on one table: its locks, its semaphore, its renewals. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { GoRun } from './go-program.ts';
import { buildGoProgram, runGo } from './go-program.ts';
import type { TestGateway } from './support.ts';
import { GatewayTable, ask, pairAt } from './support.ts';

const endpoint = inject('embeddedEndpoint');
const build = buildGoProgram();
const missing = 'missing' in build ? build.missing : undefined;
const title = `the Go client${missing === undefined ? '' : ` (skipped: ${missing})`}`;

describe.skipIf(endpoint === null || missing !== undefined)(title, () => {
  let table: GatewayTable;
  let one: TestGateway;
  let two: TestGateway;
  let folder: string;
  beforeAll(async () => {
    table = await GatewayTable.open(endpoint);
    [one, two] = [await table.start(), await table.start()];
    folder = await mkdtemp(path.join(tmpdir(), 'leasehold-go-'));
  });
  afterAll(async () => {
    await table.close();
    await rm(folder, { recursive: true });
    if ('program' in build) await rm(path.dirname(build.program), { recursive: true });
  });

  const run = ({ url }: TestGateway, ...argv: readonly string[]): GoRun =>
    runGo('program' in build ? build.program : '', url, ...argv);

  test('speaks all verbs on keys', async () => {
    const { out, code } = await run(one, 'keys', 'verbs/').ended;

    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      value: 'AP8B',
      flags: '18446744073709551615',
      index: true,
      stale: false,
      txn: true,
      read: 'b',
      names: ['verbs/a', 'verbs/b/'],
      rest: 0,
    });
  });

  test('lets only one of two workers work', async () => {
    const first = run(one, 'work', 'service/a/leader', '10s', '60000');
    await first.says('I can work');

    const second = await run(two, 'work', 'service/a/leader', '10s', '60000').ended;

    expect(second).toMatchObject({ code: 0, out: expect.stringMatching(/^session \S+\nI can NOT work\n$/) as string });
    first.kill('SIGINT');
    expect(await first.ended).toMatchObject({ code: 0, out: expect.stringContaining('interrupted') as string });
    // Its session had behaviour delete, and it destroyed it.
    expect(await pairAt(one, 'service/a/leader')).toBeUndefined();
  });

  test('RenewPeriodic outlasts the TTL, and the work is done under one lock', async () => {
    // Renewed at half of it: a renewal may be late by a second and a half.
    const worker = run(one, 'work', 'service/b/leader', '3s', '7000');
    await worker.says('I can work');
    const before = await pairAt(two, 'service/b/leader');

    await worker.says('done');

    expect(await worker.ended).toMatchObject({ code: 0 });
    expect(before).toMatchObject({ LockIndex: 1 });
  });

  test('Lock is given back on Ctrl+C, and the next has it', async () => {
    const first = run(one, 'lock', 'handed', '10s');
    await first.says('locked');
    const second = run(two, 'lock', 'handed', '10s');
    first.kill('SIGINT');

    await second.says('locked');

    expect(await first.ended).toMatchObject({ code: 0, out: 'locked\nunlocked\n' });
    second.kill('SIGINT');
    expect(await second.ended).toMatchObject({ code: 0, out: 'locked\nunlocked\n' });
    expect(await pairAt(one, 'handed')).toMatchObject({ LockIndex: 2 });
  });

  test("acquires a killed process's lock after TTL and lock-delay, not before", async () => {
    const first = run(one, 'lock', 'orphaned', '5s');
    await first.says('locked');
    const orphan = (await pairAt(one, 'orphaned'))?.Session;
    const second = run(two, 'lock', 'orphaned', '10s');
    first.kill('SIGKILL');
    await first.ended;

    expect((await pairAt(two, 'orphaned'))?.Session).toBe(orphan);
    await second.says('locked');

    const dead = await two.leasehold.sessions.get(orphan ?? '');
    const lock = await two.leasehold.locks.get('orphaned');
    expect(dead).toMatchObject({ status: 'invalid', reason: 'expired', lockDelayMs: 1_000 });
    const expiredAt = dead?.expiresAt ?? Infinity;
    expect(dead?.status === 'invalid' && dead.invalidatedAt).toBeGreaterThanOrEqual(expiredAt);
    // The delay counts from the end of the TTL, however late that was seen.
    expect(lock?.holder?.since).toBeGreaterThanOrEqual(expiredAt + 1_000);
    second.kill('SIGINT');
    await second.ended;
  });

  test('Lock learns that its session was destroyed by an operator', async () => {
    const holder = run(one, 'lock', 'taken', '10s');
    await holder.says('locked');

    await run(two, 'destroy', (await pairAt(two, 'taken'))?.Session ?? '').ended;

    await holder.says('lost');
    holder.kill('SIGKILL');
  });

  test('40 contenders on a semaphore of 15, from two processes: never more than 15, and all have their turn', async () => {
    const log = path.join(folder, 'semaphore');
    const contend = (gateway: TestGateway): GoRun => run(gateway, 'semaphore', 'jobs', '15', '20', '3000', log);
    const processes = [contend(one), contend(two)];

    for (const { ended } of processes) expect(await ended).toMatchObject({ code: 0, out: 'all done\n' });

    let [inside, most] = [0, 0];
    const lines = (await readFile(log, 'utf8')).trim().split('\n');
    for (const line of lines) {
      inside += line === 'in' ? 1 : -1;
      most = Math.max(most, inside);
    }
    expect({ turns: lines.length, inside }).toEqual({ turns: 80, inside: 0 });
    expect(most).toBeLessThanOrEqual(15);
    expect(most).toBeGreaterThan(1);
    expect((await ask(one, 'GET', 'kv/jobs/?keys')).json).toEqual(['jobs/.lock']);
  });
});
