/**
 * `npm run bench -- directory`: how session lives load the partitions of the directory.
 *
 * DynamoDB writes about 1,000 units a second to one partition of an index, so the share of the busiest one bounds the lives a second.
 */
import { Command } from 'commander';
import { Leasehold } from '../shared/client/leasehold.ts';
import { noSkewGauge } from '../shared/core/lease/skew.ts';
import { sessionKey } from '../shared/dynamo/engine/keys.ts';
import { Sender } from '../shared/dynamo/engine/send.ts';
import { wholeNumber } from './arguments.ts';
import { TABLE, simulatedWorld } from './table.ts';

interface Settings {
  readonly lives: number;
  readonly json: boolean;
}

export async function run(argv: readonly string[]): Promise<number> {
  const { lives, json } = parse(argv);
  const busiestShare = await busiest(lives);
  const percent = (100 * busiestShare).toFixed(1);
  if (json) console.log(JSON.stringify({ lives, busiestShare }));
  else console.log(`${lives} session lives: the busiest partition of the directory takes ${percent} % of its units`);
  return 0;
}

/** Each life writes its entry twice: when it begins, and when it ends. */
async function busiest(lives: number): Promise<number> {
  const world = simulatedWorld();
  const place = world.placeOf('lives');
  const sender = new Sender(place);
  const leasehold = new Leasehold({ sender, runtime: place.runtime, gauge: noSkewGauge }, { table: TABLE });
  const units = new Map<string, number>();
  await world.run(async () => {
    for (let n = 0; n < lives; n++) {
      const session = await leasehold.session({ name: 'invocation' });
      const key = { TableName: TABLE, Key: { ...sessionKey(session.id) } };
      const { Item } = await place.driver.attempt('get', key, new AbortController().signal);
      const partition = String(Item?.directoryKey);
      units.set(partition, (units.get(partition) ?? 0) + 2);
      await session.end();
    }
  });
  return Math.max(...units.values()) / (2 * lives);
}

function parse(argv: readonly string[]): Settings {
  return new Command('directory')
    .description('The share of the busiest partition of the directory, over session lives.')
    .option('--lives <n>', 'sessions that begin and end', wholeNumber(1), 1_000)
    .option('--json', 'the figures as one JSON object', false)
    .parse(argv, { from: 'user' })
    .opts<Settings>();
}
