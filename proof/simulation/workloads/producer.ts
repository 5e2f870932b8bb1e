/** Enqueues tasks and repeats until each is acknowledged, like an application that loses nothing. */
import { defined } from '../../../shared/core/defined.ts';
import { ConfigurationError, MismatchError } from '../../../shared/core/errors.ts';
import type { EnqueueOptions, TaskClient } from '../../../shared/tasks/queue/task-client.ts';
import { PAYLOAD_ROW_LIMIT_BYTES } from '../../../shared/tasks/task/payload.ts';
import { CommitRefusedError } from '../../../shared/tasks/task/control.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import { PRIORITIES } from '../../../shared/tasks/task/task.ts';
import type { Prng } from '../../../test/support/machines/prng.ts';
import type { SimulatedProcess } from '../../../test/support/machines/process.ts';
import { taskRow } from '../observed-stores.ts';
import type { Recorder } from '../recorder.ts';
import { LINE, TASK_KEYS } from '../invariants/families.ts';
import { TENANTS } from '../invariants/tenants.ts';
import type { Profile } from '../profile.ts';
import { USER_TABLE } from '../rows.ts';
import { TAKE_FROM_STOCK } from './receipts.ts';
import type { TaskInput } from './task-code.ts';
import { drawKind, fillerOf } from './task-code.ts';

export interface ProducerPorts {
  readonly process: SimulatedProcess;
  readonly client: TaskClient;
  readonly recorder: Recorder;
  readonly prng: Prng;
  readonly queue: string;
  readonly half: number;
  readonly profile: Profile;
  /** Grows with every request for other work under an id that may be taken. */
  readonly nextVersion: () => number;
  readonly seen: (what: string) => void;
  readonly onAcknowledged: (id: string) => void;
}

/** The ids of one half of a history; another half may use them again. */
export function taskIds(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `t${String(index + 1).padStart(2, '0')}`);
}

/** Enqueues a batch and its follow-up task; repeats until acknowledged. */
export async function produceBatch(ports: ProducerPorts): Promise<void> {
  const { process, client, prng, half, seen } = ports;
  const id = batchId(half);
  const count = 1 + (half % 2) * 3;
  const children = Array.from({ length: count }, (_, child) =>
    spawn(BATCH_KINDS[child] ?? 'quick', { kind: 'quick', half }),
  );
  await process.runtime.clock.sleep(prng.between(0, 5_000));
  for (;;) {
    try {
      await client.enqueueBatch(children, { id, then: spawn('quick', { kind: 'quick', half }) });
      seen('batch enqueued');
      ports.onAcknowledged(id);
      return;
    } catch {
      // Existing tasks stay, and missing ones are added.
      await process.runtime.clock.sleep(300);
    }
  }
}

export function batchId(half: number): string {
  return `batch${half}`;
}

const BATCH_KINDS = ['quick', 'stumbles', 'refuses', 'commits'] as const;

/** Enqueues within a time, one after the other; some twice, some again for other work. Resolves when all are acknowledged. */
export async function produce(ports: ProducerPorts, ids: readonly string[], withinMs: number): Promise<void> {
  const { process, profile, prng, half } = ports;
  const fillers = prng.fork('fillers');
  const again = prng.fork('again');
  for (const id of ids) {
    await process.runtime.clock.sleep(prng.exponential(withinMs / ids.length));
    const kind = drawKind(prng);
    const options: EnqueueOptions = {
      priority: prng.pick(PRIORITIES),
      delay: `${prng.chance(0.2) ? Math.round(prng.between(0, 3_000)) : 0}ms`,
      ...(prng.chance(0.25) ? prng.pick([...TASK_KEYS, LINE]) : {}),
      ...(prng.chance(0.05) ? { expires: `${Math.round(prng.between(500, 20_000))}ms` } : {}),
      ...(profile.tenants ? tenantOf(id) : {}),
    };
    const input = {
      kind,
      half,
      ...(fillers.chance(profile.payloadShare) ? { filler: fillerOf(id, { half }, fillerBytes(id)) } : {}),
    };
    const times = prng.chance(0.2) ? 2 : 1;
    for (let time = 0; time < times; time++) await enqueue(ports, kind, { id, input, ...options });
    if (prng.chance(0.05))
      await enqueue(ports, kind, { id, input: { kind: `${kind} of another kind`, half }, ...options });
    if (again.chance(profile.dedupShare)) await askAgain(ports, again, { id, kind, options });
  }
  if (profile.bucket && ids.length > 0) await enqueueHuge(ports);
}

/** One in four is stored deflated in its task's row, the others in a second row. */
function fillerBytes(id: string): number {
  return Number(id.slice(1)) % 4 === 0 ? 1_500 : BESIDE_BYTES;
}

const BESIDE_BYTES = 18_000;

/** An id belongs to one tenant; some belong to none. */
function tenantOf(id: string): Pick<EnqueueOptions, 'tenant'> {
  const tenant = TENANTS[Number(id.slice(1)) % (TENANTS.length + 1)];
  return defined({ tenant });
}

/** Other work under an id that is taken, in each of the ways in which that can be meant. */
export async function askAgain(
  ports: ProducerPorts,
  prng: Prng,
  { id, kind, options }: { readonly id: string; readonly kind: string; readonly options: EnqueueOptions },
): Promise<void> {
  const { process, profile, half } = ports;
  const ordered = options.ordered === true;
  for (let times = prng.integer(1, 3); times > 0; times--) {
    await process.runtime.clock.sleep(prng.exponential(1_500));
    const ways: readonly EnqueueOptions[] = [
      ...(ordered ? [] : ([{ onDuplicate: 'replace' }, { onDuplicate: 'debounce', delay: '300ms' }] as const)),
      ...([{ onDuplicate: 'keep' }, { window: 500 }, { onDuplicate: 'keep', window: 2_000 }] as const),
    ];
    const way = prng.pick(ways);
    const hasFiller = prng.chance(profile.payloadShare);
    await insist(ports, async () => {
      // Each request is for different work, so the outcome of the next one shows the effect of an unanswered one.
      const version = ports.nextVersion();
      const filler = hasFiller ? { filler: fillerOf(id, { half, version }, fillerBytes(id)) } : {};
      await put(ports, kind, { id, input: { kind, half, version, ...filler }, ...options, ...way });
    });
  }
}

/** One input that only the user's own store can hold. */
async function enqueueHuge(ports: ProducerPorts): Promise<void> {
  const { half } = ports;
  const id = `huge${half}`;
  const filler = fillerOf(id, { half }, PAYLOAD_ROW_LIMIT_BYTES + 1_000);
  await enqueue(ports, 'quick', { id, input: { kind: 'quick', half, filler } });
  ports.seen('enqueued by reference');
}

/** An order that takes one from the stock. It is asked for once: if it is refused, nothing of it may be there, now or later. */
async function orderFromStock({ process, client, recorder, seen }: ProducerPorts, id: string): Promise<void> {
  const row = { TableName: USER_TABLE, Item: { id }, ConditionExpression: 'attribute_not_exists(id)' };
  try {
    await client.enqueue('quick', { kind: 'quick', half: 0 }, { id, writes: [{ Put: row }, TAKE_FROM_STOCK] });
    seen('order taken from the stock');
  } catch (error) {
    if (!(error instanceof CommitRefusedError)) return;
    const at = { at: process.now, process: process.name, row: `${USER_TABLE}/${id}` } as const;
    recorder.emit({ kind: 'acknowledged', what: 'declined', ...at });
    seen('order declined, because the stock is empty');
  }
}

/** Orders that the user writes together with a task. An existing order refuses both. */
export async function produceOrders(ports: ProducerPorts): Promise<void> {
  const { process, profile, prng, half, recorder, queue, seen } = ports;
  for (let order = 1; order <= profile.orders; order++) {
    await process.runtime.clock.sleep(prng.exponential((0.5 * profile.faultyMs) / profile.orders));
    const input = { kind: 'quick', half };
    const id = `order${order}`;
    const mine = {
      Put: { TableName: USER_TABLE, Item: { id: `${id}-${half}` }, ConditionExpression: 'attribute_not_exists(id)' },
    };
    await insist(ports, async () => {
      try {
        const { created } = await ports.client.enqueue('quick', input, { id, writes: [mine] });
        seen(`order ${created ? 'enqueued' : 'enqueued before'}`);
      } catch (error) {
        if (error instanceof MismatchError) seen('order of the other half');
        else if (error instanceof CommitRefusedError) seen('order enqueued before');
        else throw error;
      }
    });
    recorder.emit({
      kind: 'acknowledged',
      at: process.now,
      process: process.name,
      what: 'enqueued',
      row: taskRow({ queue, id }),
    });
    // Whoever begins again after a crash asks for others, because what the crashed one has sent may still be applied. Only unanswered
    // requests are barred, so no network may repeat an answered one here.
    if (profile.duplicate === 0) await orderFromStock(ports, `stocked${order}-${process.name}`);
  }
}

/** One tenant has many tasks at once; others come with few. */
export async function produceUnfairly(ports: ProducerPorts): Promise<void> {
  const { process, profile, prng, half } = ports;
  const [hog, ...others] = TENANTS;
  const input = { kind: 'quick', half };
  await process.runtime.clock.sleep(prng.between(0, 0.5 * profile.faultyMs));
  const ids = Array.from({ length: profile.hogTasks }, (_, task) => `${hog}-${task}`);
  await Promise.all(ids.map((id) => enqueue(ports, 'quick', { id, input, tenant: hog })));
  for (let round = 1; round <= 4; round++)
    for (const tenant of others) await enqueue(ports, 'quick', { id: `${tenant}-${round}`, input, tenant });
  ports.seen('one tenant enqueued much');
}

type Asked = EnqueueOptions & { readonly id: string; readonly input: TaskInput };

export function enqueue(ports: ProducerPorts, name: string, task: Asked): Promise<void> {
  return insist(ports, () => put(ports, name, task));
}

/** Again until it is acknowledged, or refused. */
async function insist({ process, seen }: ProducerPorts, ask: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      if (error instanceof ConfigurationError) throw error;
      // Whether it was applied is not known, and need not be: enqueuing the same again is harmless.
      seen('enqueue tried again');
      await process.runtime.clock.sleep(200);
    }
  }
}

async function put(ports: ProducerPorts, name: string, { id, input, ...options }: Asked): Promise<void> {
  const { process, client, recorder, queue, seen } = ports;
  try {
    const enqueued = await client.enqueue(name, input, { id, ...options });
    const { created, replaced } = enqueued;
    seen(replaced ? 'enqueued in place of another' : created ? 'enqueued' : 'enqueued again');
    if (enqueued.follows) seen('enqueued to follow a running one');
    const row = taskRow({ queue, id });
    // If the row does not show its input, it does not show the version either.
    const isShown = (created || replaced) && input.version !== undefined && (input.filler ?? '').length < BESIDE_BYTES;
    const value = isShown ? JSON.stringify({ version: input.version }) : undefined;
    recorder.emit({ kind: 'acknowledged', at: process.now, process: process.name, what: 'enqueued', row, value });
  } catch (error) {
    if (!(error instanceof MismatchError)) throw error;
    seen('enqueued with other input: refused');
  }
  // Acknowledged or taken by other work: it is there.
  ports.onAcknowledged(id);
}
