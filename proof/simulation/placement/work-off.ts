/** Workers come after a flow, and every task must end. */
import { taskRow } from '../observed-stores.ts';
import { QUEUE } from '../workloads/worker-place.ts';
import { work } from '../workloads/worker.ts';
import type { Stage } from './stage.ts';

const ENDED = ['done', 'dead', 'cancelled'];

/** The input of most tasks. */
export const QUICK = { kind: 'quick', half: 1 } as const;

/** Workers come, one after the other, until every task has ended. */
export async function workOff(stage: Stage): Promise<void> {
  for (;;) {
    await workOnce(stage);
    if (isOver(stage)) return;
    await stage.sleep(1_000);
  }
}

/** Whether every task has ended. */
export function isOver({ recorder }: Stage): boolean {
  const tasks = [...recorder.rows].filter(([row]) => row.startsWith('task#'));
  return tasks.every(([, { state }]) => ENDED.includes(String(state)));
}

/** One worker, until it ends or its task kills it. */
async function workOnce(stage: Stage): Promise<void> {
  const place = stage.place('worker');
  const worker = work(place, {});
  const state = { isOver: false };
  void Promise.allSettled([worker]).then(() => (state.isOver = true));
  while (!state.isOver && place.process.isAlive) await stage.sleep(200);
  if (state.isOver) await worker;
}

export function mustBe(stage: Stage, id: string, state: string): void {
  const found = stage.recorder.rows.get(taskRow({ queue: QUEUE, id }))?.state;
  if (found !== state) stage.violated('L3', `${id} is ${String(found)} in the end, and should be ${state}`);
}
