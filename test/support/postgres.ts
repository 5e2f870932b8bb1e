/** A test's own PostgreSQL, on a socket in a temporary folder, if one is installed. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bindToParent, signalGroup } from '../../local/bind-to-parent.ts';

function run(program: string, args: readonly string[], options: object = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { encoding: 'utf8', ...options }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program}: ${stderr}`, { cause: error }));
    });
  });
}

export interface Postgres {
  /** Runs statements, and returns the rows of each result set: columns as text. */
  query(sql: string): Promise<readonly (readonly string[])[]>;
  stop(): Promise<void>;
}

export function isPostgresInstalled(): boolean {
  return ['initdb', 'postgres', 'psql'].every((program) => spawnSync(program, ['--version']).status === 0);
}

export async function startPostgres(): Promise<Postgres> {
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-postgres-'));
  const user = unprivilegedUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = path.join(folder, 'data');
  await run('initdb', ['-D', data, '-U', 'test', '--auth=trust', '--no-sync', '--no-locale', '-E', 'UTF8'], {
    ...user,
  });
  const settings = ['fsync=off', 'listen_addresses='].flatMap((setting) => ['-c', setting]);
  const server = spawn('postgres', ['-D', data, '-k', folder, ...settings], {
    ...user,
    stdio: 'ignore',
    detached: true,
  });
  bindToParent(server);
  const connect = ['-h', folder, '-U', 'test', '-d', 'postgres', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1'];
  const query: Postgres['query'] = async (sql) => {
    const stdout = await run('psql', [...connect, '-c', sql]);
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('|')]));
  };
  await whenReady(query);
  return {
    query,
    async stop() {
      const ended = once(server, 'close');
      signalGroup(server, 'SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function whenReady(query: Postgres['query']): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await query('SELECT 1');
      return;
    } catch (error) {
      if (attempt === 200) throw error;
      await sleep(50);
    }
  }
}

/** PostgreSQL does not run as root. */
function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string): number => Number(spawnSync('id', [flag, 'nobody']).stdout.toString());
  return { uid: idOf('-u'), gid: idOf('-g') };
}
