/** `npm run bench -- overview`: read units that the console's overview takes for a round of three queues with four workers each. */
import { Command } from 'commander';
import { startEngine } from '../../local/engine.ts';
import { createSilentTable } from '../../bench/silent-table.ts';
import { TABLE } from '../../bench/table.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import { workerName } from '../../shared/tasks/dispatch/live-workers.ts';
import type { Session } from '../../shared/client/session.ts';
import { ConsoleConnection } from '../connection.ts';
import { OverviewRead } from '../views/overview.ts';
import { SessionBook } from '../views/session-book.ts';

interface Figures {
  readonly first: number;
  /** The mean of all rounds. */
  readonly each: number;
}

const MAX_SKEW_MS = 1_000;
const QUEUES = ['orders', 'mail', 'reports'];
const WORKERS_EACH = 4;
/** As the page does. */
const ROUND_MS = 2_000;
const ROUNDS = 30;

export async function run(argv: readonly string[]): Promise<number> {
  const { json } = parse(argv);
  const figures = await measure();
  if (json) console.log(JSON.stringify(figures));
  else console.log(`the first round takes ${figures.first} read units, each of ${ROUNDS} ${figures.each.toFixed(1)}`);
  return 0;
}

async function measure(): Promise<Figures> {
  const engine = await startEngine({ kind: 'embedded', isBare: true });
  try {
    const now = { ms: systemRuntime.clock.now() };
    const runtime: Runtime = { ...systemRuntime, clock: clockAt(now) };
    const options = { table: TABLE, shards: 8, maxClockSkewMs: MAX_SKEW_MS, queues: [], isReadOnly: true, by: 'bench' };
    using connection = new ConsoleConnection({ ...options, endpoint: engine.endpoint, region: 'us-east-1' }, runtime);
    await createSilentTable(await connection.openClient(), TABLE);
    const { leasehold } = connection.open();
    const sessions: Session[] = [];
    for (const queue of QUEUES)
      for (let n = 0; n < WORKERS_EACH; n++) {
        const session = await leasehold.session({ name: workerName(queue), ttl: '1h' });
        sessions.push(session);
        await leasehold.semaphores.acquire(session.holder, workersSemaphore(queue), { limit: 10 });
      }
    const overview = new OverviewRead(connection, new SessionBook(connection));
    const first = await overview.look();
    let later = 0;
    for (let round = 1; round < ROUNDS; round++) {
      now.ms += ROUND_MS;
      later += await overview.look();
    }
    await Promise.all(sessions.map((session) => session.end()));
    return { first, each: (first + later) / ROUNDS };
  } finally {
    await engine.stop();
  }
}

function clockAt(now: { readonly ms: number }): Runtime['clock'] {
  const { clock } = systemRuntime;
  return {
    now: () => now.ms,
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    after: (ms, work) => clock.after(ms, work),
  };
}

function parse(argv: readonly string[]): { readonly json: boolean } {
  return new Command('overview')
    .description("Read units of the console's overview.")
    .option('--json', 'the figures as one JSON object', false)
    .parse(argv, { from: 'user' })
    .opts();
}
