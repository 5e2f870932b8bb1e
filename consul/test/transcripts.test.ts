/** The steps of Consul's two guides, as people type them: curl against `leasehold consul`, a process each. */
import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runCommand, runHere } from '../../test/support/command.ts';
import { GatewayTable, startGatewayCommand } from './support.ts';
import type { KeyPair } from './support.ts';

const endpoint = inject('embeddedEndpoint');
describe.skipIf(endpoint === null)('the curl commands of the guides', () => {
  let table: GatewayTable;
  let gateway: Awaited<ReturnType<typeof startGatewayCommand>>;
  beforeAll(async () => {
    table = await GatewayTable.open(endpoint);
    gateway = await startGatewayCommand(table.table, '--min-ttl', '1s', '--node', 'laptop');
  });
  afterAll(async () => {
    gateway.command.process.kill('SIGINT');
    await gateway.command.ended;
    await table.close();
  });

  const curl = (path: string, ...options: readonly string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      execFile('curl', ['--silent', '--show-error', ...options, `${gateway.url}/v1/${path}`], (error, out) => {
        if (error === null) resolve(out);
        else reject(new Error(`curl ${path} failed`, { cause: error }));
      });
    });
  const put = (path: string, data = '') => curl(path, '--request', 'PUT', '--data', data);
  const read = async (path: string) => JSON.parse(await curl(path)) as KeyPair[];
  const indexOf = async (path: string) =>
    /^x-consul-index: (\d+)/im.exec(await curl(path, '--head', '--request', 'GET'))?.[1] ?? '';
  const session = async (entry: object) =>
    (JSON.parse(await put('session/create', JSON.stringify(entry))) as { ID: string }).ID;
  const text = ({ Value }: { Value: string | null }) => Buffer.from(Value ?? '', 'base64').toString();

  test('leader election with sessions: acquire, discover, watch, release', async () => {
    const one = await session({ Name: 'dbservice', LockDelay: '1s', TTL: '60s' });
    const two = await session({ Name: 'dbservice', TTL: '60s' });

    expect(await put(`kv/lead?acquire=${one}`, '{"Node":"node-1"}')).toBe('true');
    expect(await put(`kv/lead?acquire=${two}`, '{"Node":"node-2"}')).toBe('false');
    const [leader] = await read('kv/lead');
    expect(leader).toMatchObject({ Session: one, LockIndex: 1, Flags: 0 });
    expect(text(leader!)).toBe('{"Node":"node-1"}');
    expect(JSON.parse(await curl(`session/info/${one}`))).toMatchObject([
      { Name: 'dbservice', Node: 'laptop', TTL: '1m0s' },
    ]);

    const watching = read(`kv/lead?index=${await indexOf('kv/lead')}&wait=60s`);
    expect(await put(`kv/lead?release=${one}`)).toBe('true');
    const [vacant] = await watching;
    expect(vacant).toMatchObject({ LockIndex: 1 });
    expect(vacant).not.toHaveProperty('Session');
    expect(await put(`kv/lead?acquire=${two}`, '{"Node":"node-2"}')).toBe('true');

    // An operator deposes the leader; the delay keeps the key closed.
    expect(await put(`session/destroy/${two}`)).toBe('true');
    expect(await put(`kv/lead?acquire=${one}`)).toBe('false');
    expect(await read('kv/lead')).toMatchObject([{ LockIndex: 2 }]);
    expect(await put(`session/destroy/${one}`)).toBe('true');
  });

  test('semaphore: contenders, the lock key, pruning expired holders, release', async () => {
    const prefix = 'service/redis/lock';
    const limit = 1;
    const contend = async () => {
      const id = await session({ Name: 'semaphore', TTL: '60s', Behavior: 'delete', LockDelay: 0 });
      expect(await put(`kv/${prefix}/${id}?acquire=${id}`, '{"Name":"contender"}')).toBe('true');
      return id;
    };
    const slots = async () => {
      const entries = await read(`kv/${prefix}/?recurse`);
      const lock = entries.find(({ Key }) => Key === `${prefix}/.lock`);
      const alive = entries.flatMap(({ Session }) => Session ?? []);
      return {
        lock,
        alive,
        holders: lock === undefined ? [] : (JSON.parse(text(lock)) as { Holders: string[] }).Holders,
      };
    };
    const write = (index: number, Holders: string[]) =>
      put(`kv/${prefix}/.lock?cas=${index}`, JSON.stringify({ Limit: limit, Holders }));

    const one = await contend();
    expect((await slots()).lock).toBeUndefined();
    expect(await write(0, [one])).toBe('true');

    const two = await contend();
    expect(await write(0, [two])).toBe('false');
    const full = await slots();
    expect(full.holders).toEqual([one]);
    expect(full.alive.sort()).toEqual([one, two].sort());

    // The holder's session ends, its contender entry goes with it, and the other, who watches, takes its place.
    const watching = curl(`kv/${prefix}/?recurse&index=${await indexOf(`kv/${prefix}/?recurse`)}&wait=60s`);
    expect(await put(`session/destroy/${one}`)).toBe('true');
    expect(await watching).not.toContain(`${prefix}/${one}`);
    const { lock, alive, holders } = await slots();
    expect(alive).toEqual([two]);
    const living = holders.filter((id) => alive.includes(id));
    expect(await write(lock!.ModifyIndex, [...living, two])).toBe('true');

    const held = await slots();
    expect(held.holders).toEqual([two]);
    expect(await write(held.lock!.ModifyIndex, [])).toBe('true');
    expect(await curl(`kv/${prefix}/${two}`, '--request', 'DELETE')).toBe('true');
    expect(await put(`session/destroy/${two}`)).toBe('true');
    expect(await curl(`kv/${prefix}/?recurse`, '--request', 'DELETE')).toBe('true');
    expect(await curl(`kv/${prefix}/?keys`, '--write-out', '%{http_code}')).toBe('404');
  });

  test('the command refuses to be open to others', async () => {
    const end = await runCommand(table.table, 'consul', '--port', '0', '--host', '0.0.0.0');

    expect(end).toMatchObject({ exitCode: 2, out: '' });
    expect(end.err).toContain('is not loopback, and there are no tokens');
  });

  test('the command says when its port is taken, or its tokens are wrong or given twice', async () => {
    const port = new URL(gateway.url).port;

    expect(await runCommand(table.table, 'consul', '--port', port)).toMatchObject({ exitCode: 2 });
    expect((await runCommand(table.table, 'consul', '--tokens', '/nowhere')).err).toContain(
      'the tokens cannot be read',
    );
    const twice = await runHere(['consul', '--tokens', '/nowhere'], '', undefined, { LEASEHOLD_CONSUL_TOKENS: '{}' });
    expect(twice.exitCode).toBe(2);
    expect(twice.err).toContain('--tokens and LEASEHOLD_CONSUL_TOKENS are both given: omit one of them');
  });
});
