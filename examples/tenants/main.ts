/**
 * One tenant with a long backlog, twenty with one task each: nobody waits for the big one.
 *
 *   node examples/tenants/main.ts
 */
import { parseArgs } from 'node:util';
import { defineTask } from '../../shared/task/definition.ts';
import { check, openQueue } from '../queue.ts';

const { values: options } = parseArgs({ options: { endpoint: { type: 'string' } } });
const BIG = { tenant: 'big', tasks: 300 };
const SMALL = Array.from({ length: 20 }, (_, n) => `small-${n + 1}`);

const order: string[] = [];
const render = defineTask({
  name: 'report.render',
  run({ tenant }: { readonly tenant: string }) {
    order.push(tenant);
  },
});

await using queue = await openQueue(options.endpoint);
const tenants = [...Array.from({ length: BIG.tasks }, () => BIG.tenant), ...SMALL];
const tasks = tenants.map((tenant) => queue.client.validate(render, { tenant }, { tenant }));
await queue.client.enqueueAll(await Promise.all(tasks));

await queue.drain({ render });

const lastSmall = order.findLastIndex((tenant) => tenant !== BIG.tenant);
const bigBefore = order.slice(0, lastSmall).filter((tenant) => tenant === BIG.tenant).length;
console.log(`the last of the small tenants was served after ${bigBefore} of the ${BIG.tasks} tasks of the big one`);
check(order.length === tenants.length, 'all tasks of everybody are done');
check(bigBefore < BIG.tasks / 5, 'the small ones did not wait for the backlog of the big one');
