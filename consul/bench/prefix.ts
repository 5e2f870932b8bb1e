/** `npm run bench -- prefix`: read units of a prefix query of the gateway, and of each poll while it blocks. */
import Table from 'cli-table3';
import { Command } from 'commander';
import { TABLE, simulatedWorld } from '../../bench/table.ts';
import { Leasehold } from '../../shared/client/leasehold.ts';
import { createStores } from '../../shared/client/stores.ts';
import { LockReader } from '../../shared/coordination/lock/lock-reader.ts';
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { PrefixReader } from '../remote/prefix.ts';

interface Figure {
  readonly what: string;
  readonly units: number;
}

const MAX_SKEW_MS = 1_000;
/** Keys under the prefix. */
const CROWDS = [1, 10, 40];

export async function run(argv: readonly string[]): Promise<number> {
  const { json } = parse(argv);
  const figures = await measureAll();
  console.log(json ? JSON.stringify({ figures }) : tableOf(figures));
  return 0;
}

async function measureAll(): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const keys of CROWDS) {
    const world = simulatedWorld();
    const { leasehold, meter, ports } = connect(world.placeOf(`gateway ${keys}`));
    const reader = new PrefixReader(ports, new LockReader(ports, MAX_SKEW_MS));
    const measure = async (what: string, work: () => Promise<unknown>): Promise<void> => {
      const before = meter.read().readUnits;
      await work();
      figures.push({ what: `${what}, ${keys} keys`, units: meter.read().readUnits - before });
    };
    await world.run(async () => {
      await using session = await leasehold.session();
      for (let n = 0; n < keys; n++) await session.lock(`service/web/${n}`);
      await measure('a poll of a blocking query', () => reader.glance('service/web/', { withSessions: false }));
      await measure('the answer of a prefix query', () => reader.read('service/web/'));
    });
  }
  return figures;
}

function connect(place: ReturnType<ReturnType<typeof simulatedWorld>['placeOf']>) {
  const { runtime } = place;
  const meter = createMeter();
  const sender = new Sender({ ...place, observer: meter });
  const gauge = noSkewGauge;
  const ports = { ...createStores(sender, { table: TABLE, shards: 8 }), runtime, gauge, table: TABLE };
  return { leasehold: new Leasehold({ sender, runtime, gauge }, { table: TABLE }), meter, ports };
}

function tableOf(figures: readonly Figure[]): string {
  const table = new Table({ head: ['', 'read units'], style: { head: [], border: [], compact: true } });
  for (const { what, units } of figures) table.push([what, units.toFixed(1)]);
  return table.toString();
}

function parse(argv: readonly string[]): { readonly json: boolean } {
  return new Command('prefix')
    .description('Read units of prefix queries of the Consul gateway.')
    .option('--json', 'the figures as one JSON object', false)
    .parse(argv, { from: 'user' })
    .opts();
}
