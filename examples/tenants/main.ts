/**
 * One tenant with a long backlog, and twenty with one task each, which do not wait for the big one.
 *
 *   node examples/tenants/main.ts
 */
import { check } from '../claims.ts';
import { exampleOptions } from '../options.ts';
import { openQueue } from '../queue.ts';
import { render } from './tasks.ts';

const options = await exampleOptions({});
const BIG = { tenant: 'big', tasks: 300 };
/** Workers poll four of the eight shards at a time, fifty tasks each: the second poll finds a tenant in the last shard. */
const TWO_LOOKS = 100;
const SMALL = Array.from({ length: 20 }, (_, n) => `small-${n + 1}`);

await using queue = await openQueue('tenants', options.endpoint);
const { tasks: client } = queue.leasehold;
const tenants = [...Array.from({ length: BIG.tasks }, () => BIG.tenant), ...SMALL];
const tasks = await Promise.all(tenants.map((tenant) => client.validate(render, { tenant }, { tenant })));
await client.enqueueAll(tasks);

const lines = await queue.finish(
  new URL('tasks.ts', import.meta.url),
  tasks.map(({ id }) => id),
);

const order = lines.flatMap((line) => (line.startsWith('rendered ') ? [line.slice('rendered '.length)] : []));
const lastSmall = order.findLastIndex((tenant) => tenant !== BIG.tenant);
const bigBefore = order.slice(0, lastSmall).filter((tenant) => tenant === BIG.tenant).length;
console.log(`the last of the small tenants was served after ${bigBefore} of the ${BIG.tasks} tasks of the big one`);
check(order.length === tenants.length, 'all tasks of everybody are done');
check(bigBefore < TWO_LOOKS, 'the small ones did not wait for the backlog of the big one');
