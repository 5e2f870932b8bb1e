/** Enqueues tasks and does not rest until each is acknowledged: what an application does that loses nothing. */
import { ConfigurationError, MismatchError } from '../../../shared/errors.ts';
import type { EnqueueOptions, TaskClient } from '../../../shared/task/client.ts';
import { spawn } from '../../../shared/task/request.ts';
import { PRIORITIES } from '../../../shared/task/task.ts';
import type { Prng } from '../../../testing/simulation/prng.ts';
import type { SimulatedProcess } from '../../../testing/simulation/process.ts';
import { taskRow } from '../observed-stores.ts';
import type { Recorder } from '../recorder.ts';
import { LINE, TASK_KEYS } from '../invariants/families.ts';
import { drawKind } from './task-code.ts';

export interface ProducerPorts {
  readonly process: SimulatedProcess;
  readonly client: TaskClient;
  readonly recorder: Recorder;
  readonly prng: Prng;
  readonly queue: string;
  readonly half: number;
  readonly seen: (what: string) => void;
  readonly onAcknowledged: (id: string) => void;
}

/** The ids of one half of a history; another half may use them again. */
export function taskIds(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `t${String(index + 1).padStart(2, '0')}`);
}

/** Enqueues tasks that are waited for together, and the one that follows them; again until it is acknowledged, however often that takes. */
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
      // What is there already stays, and what is missing is added.
      await process.runtime.clock.sleep(300);
    }
  }
}

export function batchId(half: number): string {
  return `batch${half}`;
}

const BATCH_KINDS = ['quick', 'stumbles', 'refuses', 'commits'] as const;

/** Enqueues within a time, one after the other; some twice. Resolves when all are acknowledged. */
export async function produce(ports: ProducerPorts, ids: readonly string[], withinMs: number): Promise<void> {
  const { process, prng, half } = ports;
  for (const id of ids) {
    await process.runtime.clock.sleep(prng.exponential(withinMs / ids.length));
    const kind = drawKind(prng);
    const options: EnqueueOptions = {
      priority: prng.pick(PRIORITIES),
      delay: prng.chance(0.2) ? Math.round(prng.between(0, 3_000)) : 0,
      ...(prng.chance(0.25) ? prng.pick([...TASK_KEYS, LINE]) : {}),
      ...(prng.chance(0.05) ? { expiresIn: Math.round(prng.between(500, 20_000)) } : {}),
    };
    const times = prng.chance(0.2) ? 2 : 1;
    for (let time = 0; time < times; time++) await enqueue(ports, kind, { id, input: { kind, half }, ...options });
    if (prng.chance(0.05)) await enqueue(ports, kind, { id, input: { kind, half, other: true }, ...options });
  }
}

async function enqueue(
  ports: ProducerPorts,
  name: string,
  task: EnqueueOptions & { readonly id: string; readonly input: object },
): Promise<void> {
  const { process, client, recorder, queue, seen } = ports;
  const { id, input, ...options } = task;
  for (;;) {
    try {
      const { created } = await client.enqueue(name, input, { id, ...options });
      seen(created ? 'enqueued' : 'enqueued again');
      const row = taskRow({ queue, id });
      recorder.emit({ kind: 'acknowledged', at: process.now, process: process.name, what: 'enqueued', row });
      ports.onAcknowledged(id);
      return;
    } catch (error) {
      if (error instanceof MismatchError) {
        seen('enqueued with other input: refused');
        return;
      }
      if (error instanceof ConfigurationError) throw error;
      // Whether it was applied is not known, and need not be: enqueuing the same again is harmless.
      seen('enqueue tried again');
      await process.runtime.clock.sleep(200);
    }
  }
}
