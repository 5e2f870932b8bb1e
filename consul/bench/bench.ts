/**
 * `npm run bench -- consul`: compares the Consul gateway with a real Consul, alternating on one machine.
 *
 * Two questions:
 *   1. How many cycles of acquire and release a second, on one connection and on several, and how long does one take?
 *   2. How long after a change does a blocking query on the same server answer?
 * Rates depend on the machine and its other load; compare the ratios and the CPU time of a cycle.
 * The gateway uses the embedded engine, so its requests have the costs of this machine, not of a region.
 * `--beside` also measures the gateway of another checkout in the same run, to price a change.
 * Without a Consul (`node consul/test/compare/compare.ts` builds one, `CONSUL_PROGRAM` names one) the gateway is measured alone.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { startEngine } from '../../local/engine.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { systemClock as clock } from '../../shared/core/runtime/clock.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { wholeNumber, wholeNumbers } from '../../bench/arguments.ts';
import { cpuMsOf } from '../../bench/cpu.ts';
import { print } from '../../bench/figures.ts';
import { findConsul, startConsul } from './real-consul.ts';
import { createSilentTable } from '../../bench/silent-table.ts';

interface Settings {
  readonly connections: readonly number[];
  readonly seconds: number;
  readonly rounds: number;
  readonly beside?: string;
  readonly json?: boolean;
}

interface Contestant {
  readonly name: string;
  readonly url: string;
  /** The server's own process. */
  readonly pid: number;
  /** The process of its store, if that is a separate one. */
  readonly enginePid?: number | undefined;
  stop(): Promise<void>;
}

interface Turn {
  /** How long each cycle took. */
  readonly timesMs: readonly number[];
  /** CPU time of the server and its store; NaN if the kernel does not report it. */
  readonly serverCpuMs: number;
  readonly engineCpuMs: number;
}

interface Cycles {
  readonly connections: number;
  readonly perSecond: number;
  readonly serverCpuMs: number;
  readonly engineCpuMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Wake {
  readonly change: string;
  readonly p50Ms: number;
  readonly maxMs: number;
}

interface Result {
  readonly server: string;
  readonly cycles: readonly Cycles[];
  readonly wakes: readonly Wake[];
}

const HERE = fileURLToPath(new URL('../..', import.meta.url));
const WAKES = 9;

export async function run(argv: readonly string[]): Promise<number> {
  const settings = new Command('npm run bench -- consul')
    .description('Cycles of acquire and release, and wake-ups, of the gateway beside a real Consul.')
    .option('--connections <n,n>', 'how many at once', wholeNumbers, [1, 16])
    .option('--seconds <n>', 'of each turn', wholeNumber(1), 5)
    .option('--rounds <n>', 'turns of each', wholeNumber(1), 3)
    .option('--beside <folder>', 'another checkout of this project, with its packages: its gateway is measured as well')
    .option('--json', 'one JSON object as the last line')
    .parse([...argv], { from: 'user' })
    .opts<Settings>();
  const contestants: Contestant[] = [await startGateway('gateway', HERE)];
  if (settings.beside !== undefined) contestants.push(await startGateway('gateway beside', settings.beside));
  const consul = await findConsul({ builds: false });
  if ('missing' in consul) console.log(`without a real Consul: ${consul.missing}`);
  else contestants.push({ name: 'Consul', ...(await startConsul(consul.program, 'bench')) });
  try {
    const results = await measure(contestants, settings);
    print({ results }, settings.json);
    return 0;
  } finally {
    for (const contestant of contestants) await contestant.stop();
  }
}

async function startGateway(name: string, folder: string): Promise<Contestant> {
  const engine = await startEngine({ kind: 'embedded', isBare: true });
  const connection = connectDynamo({ endpoint: engine.endpoint }, systemRuntime);
  const client = await connection.openClient();
  await createSilentTable(client, 'bench');
  client.destroy();
  connection.close();
  const env = { PATH: process.env.PATH, LEASEHOLD_ENDPOINT: engine.endpoint, LEASEHOLD_TABLE: 'bench' };
  const { bin } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
    readonly bin: { readonly leasehold: string };
  };
  const argv = [path.join(folder, bin.leasehold), 'consul', '--port', '0', '--min-ttl', '1s', '--json'];
  const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    name,
    url: (JSON.parse(line.toString()) as { readonly url: string }).url,
    pid: child.pid ?? 0,
    enginePid: engine.pid,
    async stop() {
      child.kill('SIGKILL');
      await once(child, 'close');
      await engine.stop();
    },
  };
}

async function measure(contestants: readonly Contestant[], settings: Settings): Promise<readonly Result[]> {
  const clients = contestants.map((contestant) => ({ ...contestant, client: new Client(contestant.url) }));
  const turns = new Map<string, Turn[]>();
  for (let round = 0; round < settings.rounds; round++)
    for (const connections of settings.connections)
      for (const contestant of clients) {
        const turn = await turnOf(contestant, connections, settings.seconds, `${round}`);
        const name = `${contestant.name} ${connections}`;
        turns.set(name, [...(turns.get(name) ?? []), turn]);
      }
  const results: Result[] = [];
  for (const { name, client } of clients) {
    const cycles = settings.connections.map((connections): Cycles => {
      const had = turns.get(`${name} ${connections}`) ?? [];
      const all = had.flatMap(({ timesMs }) => timesMs).sort((one, other) => one - other);
      const each = (cpuMs: (turn: Turn) => number): number =>
        Math.round((had.reduce((sum, turn) => sum + cpuMs(turn), 0) / all.length) * 100) / 100;
      return {
        connections,
        perSecond: all.length / (settings.seconds * settings.rounds),
        serverCpuMs: each((turn) => turn.serverCpuMs),
        engineCpuMs: each((turn) => turn.engineCpuMs),
        p50Ms: at(all, 0.5),
        p99Ms: at(all, 0.99),
      };
    });
    results.push({ server: name, cycles, wakes: await wakesOf(client) });
    client.close();
  }
  return results;
}

/** Cycles for a while, and what they cost. */
async function turnOf(
  { client, pid, enginePid }: Contestant & { readonly client: Client },
  connections: number,
  seconds: number,
  turn: string,
): Promise<Turn> {
  const used = (): readonly number[] => [
    cpuMsOf([pid]) ?? Number.NaN,
    cpuMsOf(enginePid === undefined ? [] : [enginePid]) ?? Number.NaN,
  ];
  const [serverBefore = 0, engineBefore = 0] = used();
  const timesMs = await cyclesOf(client, connections, seconds, turn);
  const [server = 0, engine = 0] = used();
  return { timesMs, serverCpuMs: server - serverBefore, engineCpuMs: engine - engineBefore };
}

/** How long each cycle took, in milliseconds. */
async function cyclesOf(client: Client, connections: number, seconds: number, turn: string): Promise<number[]> {
  const times: number[] = [];
  const holders = await Promise.all(Array.from({ length: connections }, () => client.newSession()));
  const cycle = async (session: string, flow: number): Promise<void> => {
    await client.ask('PUT', `kv/cycles/${turn}/${flow}?acquire=${session}`, 'v');
    await client.ask('PUT', `kv/cycles/${turn}/${flow}?release=${session}`, 'v');
  };
  // The first makes the key.
  await Promise.all(holders.map(cycle));
  const until = clock.monotonic() + seconds * 1_000;
  await Promise.all(
    holders.map(async (session, flow) => {
      while (clock.monotonic() < until) {
        const begun = clock.monotonic();
        await cycle(session, flow);
        times.push(clock.monotonic() - begun);
      }
    }),
  );
  await Promise.all(holders.map((session) => client.ask('PUT', `session/destroy/${session}`)));
  return times;
}

async function wakesOf(client: Client): Promise<readonly Wake[]> {
  const session = (): Promise<string> => client.newSession({ LockDelay: '0s' });
  const wakes: Wake[] = [];
  const changes: readonly (readonly [string, (key: string, holder: string) => Promise<unknown>])[] = [
    ['a write', (key) => client.ask('PUT', `kv/${key}`, String(clock.monotonic()))],
    ['a release', (key, holder) => client.ask('PUT', `kv/${key}?release=${holder}`)],
    ['a destroyed session', (_key, holder) => client.ask('PUT', `session/destroy/${holder}`)],
  ];
  for (const [change, make] of changes) {
    const took: number[] = [];
    for (let count = 0; count < WAKES; count++) {
      const key = `wakes/${change.replaceAll(' ', '-')}/${count}`;
      const holder = await session();
      await client.ask('PUT', `kv/${key}?acquire=${holder}`, 'v');
      const { index } = await client.ask('GET', `kv/${key}`);
      const waiting = client.ask('GET', `kv/${key}?index=${index}&wait=30s`).then(() => clock.monotonic());
      await clock.sleep(300 + count * 40);
      await make(key, holder);
      const done = clock.monotonic();
      took.push(Math.max(0, (await waiting) - done));
    }
    took.sort((one, other) => one - other);
    wakes.push({ change, p50Ms: at(took, 0.5), maxMs: at(took, 1) });
  }
  return wakes;
}

/** As many connections as are asked for at once, kept. */
class Client {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(url: string) {
    this.#url = url;
  }

  ask(method: string, path: string, body = ''): Promise<{ readonly text: string; readonly index: number }> {
    return new Promise((resolve, reject) => {
      const asking = request(`${this.#url}/v1/${path}`, { method, agent: this.#agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => {
          if (response.statusCode === 200 && text !== 'false')
            resolve({ text, index: Number(response.headers['x-consul-index']) });
          else reject(new Error(`${method} ${path} was answered with ${response.statusCode}: ${text}`));
        });
      });
      asking.on('error', reject).end(body);
    });
  }

  async newSession(entry: object = {}): Promise<string> {
    const { text } = await this.ask('PUT', 'session/create', JSON.stringify({ TTL: '600s', ...entry }));
    return (JSON.parse(text) as { readonly ID: string }).ID;
  }

  close(): void {
    this.#agent.destroy();
  }
}

function at(sorted: readonly number[], part: number): number {
  return Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0) * 10) / 10;
}
