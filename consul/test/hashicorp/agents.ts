/** The servers that HashiCorp's test helper starts: each is a gateway on its own table, at the helper's port. */
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream';
import { DEFAULT_SETTINGS } from '../../http/gateway.ts';
import { GatewayTable } from '../support.ts';

/** The fields that we read from the helper's configuration. */
interface AgentConfig {
  readonly node_name: string;
  readonly ports: { readonly http: number };
}

export interface Agents {
  /** With these, the helper finds a `consul` that asks for our servers. */
  readonly env: { readonly PATH: string; readonly STAND_IN_SOCKET: string };
  close(): Promise<void>;
}

const STAND_IN = path.join(import.meta.dirname, 'stand-in.ts');
/** The helper waits until its server has a certificate authority, whatever is tested; connections to that end are answered here. */
const AUTHORITY_PATH = 'GET /v1/agent/connect/ca/roots ';
const AUTHORITY = JSON.stringify({ ActiveRootID: 'none', TrustDomain: 'none', Roots: [{}] });

export async function openAgents(endpoint: string): Promise<Agents> {
  const folder = await mkdtemp(path.join(tmpdir(), 'leasehold-consul-'));
  const program = path.join(folder, 'consul');
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${STAND_IN}' "$@"\n`);
  await chmod(program, 0o755);
  const socketFile = path.join(folder, 'wishes');
  const agents = new Map<Socket, Promise<void>>();
  const wishes = createServer((wish) => {
    agents.set(
      wish,
      runAgent(wish, endpoint).finally(() => {
        agents.delete(wish);
      }),
    );
  }).listen(socketFile);
  await once(wishes, 'listening');
  return {
    env: { PATH: `${folder}:${process.env.PATH ?? ''}`, STAND_IN_SOCKET: socketFile },
    async close() {
      wishes.close();
      // A test that crashed stops none of its servers: those programs end with their connection.
      for (const wish of agents.keys()) wish.destroy();
      await Promise.all(agents.values());
      await rm(folder, { recursive: true });
    },
  };
}

/** Runs until the requesting program ends. */
async function runAgent(wish: Socket, endpoint: string): Promise<void> {
  const gone = once(wish, 'close');
  const first = once(createInterface(wish), 'line') as Promise<[string]>;
  const [line] = await Promise.race([first, gone.then(() => [''] as const)]);
  if (line === '') return;
  const { node_name: node, ports } = JSON.parse(line) as AgentConfig;
  const table = await GatewayTable.open(endpoint);
  const { minTtlMs } = DEFAULT_SETTINGS;
  const { url } = await table.start({ node, minTtlMs, maxClockSkewMs: 1_000 });
  const door = await openDoor(ports.http, Number(new URL(url).port));
  await gone;
  door.close();
  await table.close();
}

/** Forwards the port's traffic byte by byte, except for the one request that a gateway cannot answer. */
async function openDoor(port: number, gatewayPort: number): Promise<Server> {
  const door = createServer((client) => {
    client.on('error', () => {
      client.destroy();
    });
    client.once('data', (first: Buffer) => {
      client.pause();
      if (first.toString('latin1').startsWith(AUTHORITY_PATH)) {
        client.end(`HTTP/1.1 200 OK\r\nContent-Length: ${AUTHORITY.length}\r\nConnection: close\r\n\r\n${AUTHORITY}`);
        return;
      }
      const gateway = connect(gatewayPort, '127.0.0.1');
      gateway.write(first);
      // Either end takes the other with it, however it ends.
      pipeline(client, gateway, client, () => {
        client.destroy();
        gateway.destroy();
      });
    });
  }).listen(port, '127.0.0.1');
  await once(door, 'listening');
  return door;
}
