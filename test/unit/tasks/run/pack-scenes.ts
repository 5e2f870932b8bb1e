/** Ways in which a claimed pack and its items can end: for `attempts.test.ts`. */
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { stampOf } from '../../../../shared/core/lease/stamp.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { DoNotRetry, RetryAfter } from '../../../../shared/tasks/task/control.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { RunningTask } from '../../../../shared/tasks/task/task.ts';
import { QUEUE } from '../../../support/memory-queue.ts';
import type { Run, Scene, Tools } from './attempt-scenes.ts';
import {
  cancel,
  fails,
  goDown,
  handBack,
  ignores,
  loseSession,
  stops,
  takeOver,
  during,
  write,
} from './attempt-scenes.ts';

const DIED = { leaseCounter: 1, session: 'gone', claimedAt: 1, endedAt: 2, how: 'died', error: undefined } as const;
/** Item 2 does something, and the others return their inputs. */
const second =
  (run: Run): Run =>
  (input: number, task, tools) =>
    input === 2 ? run(input as never, task, tools) : input;
const ofPack =
  (act: (tools: Tools, task: Pick<TaskContext, 'id'>) => unknown) =>
  (tools: Tools): unknown =>
    act(tools, { id: 't/0' });
const cancelItem =
  (index: number) =>
  async ({ q }: Tools) => {
    const pack = (await q.tasks.get({ queue: QUEUE, id: 't/0' })) as RunningTask;
    await q.tasks.bulk.cancelRunningItem(pack, index, stampOf(q.runtime));
  };
const PACK = [1, 2, 3];

export const PACK_SCENES: Readonly<Record<string, Scene>> = {
  'a pack whose items end in each way': {
    bulk: ['returns', 'throws', 'never', 'commits', 'snoozes', 'later', 'large', 'saves', 'waits'],
    define: { bulk: { keepResults: true } },
    run: (deed: string, task) => {
      if (deed === 'throws') throw new Error('boom');
      if (deed === 'never') throw new DoNotRetry('never');
      if (deed === 'later') throw new RetryAfter('90s', 'later');
      if (deed === 'commits') return task.commit('committed', [write('user#1')]);
      if (deed === 'snoozes') return task.snooze('1m');
      if (deed === 'saves') return task.saveProgress(1);
      if (deed === 'waits') return task.waitFor([spawn('child', 1)]);
      return deed === 'large' ? 'x'.repeat(1_000) : deed;
    },
    others: ['t/0/1', 't/0/2', 't/0/4', 't/0/5', 't/0/6', 't/0/7', 't/0/8'],
  },
  'a pack of which an item commits, and one fails': {
    bulk: ['commits', 'throws', 'returns'],
    define: { bulk: { keepResults: true } },
    run: (deed: string, task, tools) => {
      if (deed === 'throws') return fails(undefined as never, task, tools);
      return deed === 'commits' ? task.commit('committed', [write('user#1')]) : deed;
    },
    others: ['t/0/1'],
  },
  'a pack with long items': { bulk: PACK, run: (_, __, { q }) => q.clock.sleep(2_000) },
  'a pack whose items are recorded at once': {
    bulk: PACK,
    define: { bulk: { flushInterval: 0 } },
    run: (n: number) => n,
  },
  'a pack that is handed back in its second item': { bulk: PACK, run: second(during(handBack(false), stops)) },
  'a pack that is handed back, and does not stop': { bulk: PACK, run: second(during(handBack(false), ignores)) },
  'a pack that is handed back at its deadline': {
    bulk: PACK,
    run: second((input, task, tools) => {
      void tools.q.clock.sleep(40_000).then(() => handBack(true)(tools));
      return stops(input, task, tools);
    }),
    others: ['t/0/1'],
  },
  'a pack that is cancelled in its second item': { bulk: PACK, run: second(during(ofPack(cancel), stops)) },
  'a pack that is cancelled, and does not stop': { bulk: PACK, run: second(during(ofPack(cancel), ignores)) },
  'a pack that is taken over in its second item': {
    bulk: PACK,
    run: second((_, __, tools) => ofPack(takeOver)(tools)),
  },
  'a pack that loses its session': { bulk: PACK, run: second(during(loseSession, stops)) },
  'a pack whose second item is cancelled while it runs': { bulk: PACK, run: second(during(cancelItem(1), stops)) },
  'a pack whose third item is cancelled before it runs': {
    bulk: PACK,
    define: { bulk: { flushInterval: 0 } },
    run: second((_, __, tools) => cancelItem(2)(tools)),
  },
  'a pack whose items have a timeout': {
    bulk: PACK,
    define: { timeout: '5s' },
    run: second(ignores),
    others: ['t/0/1'],
  },
  'a pack with an item whose id is taken': {
    bulk: PACK,
    before: ({ q }) => q.client.enqueue('work', 'other', { id: 't/0/1' }),
    run: second(fails),
    others: ['t/0/1'],
  },
  'a pack whose second item meets an outage of our store': {
    bulk: PACK,
    run: second(() => Promise.reject(new StoreUnavailableError('away', { applied: 'no' }))),
    others: ['t/0/1'],
  },
  'a pack in an outage': { bulk: PACK, run: second((_, __, tools) => goDown(tools)) },
  'a pack with a commit in an outage': {
    bulk: PACK,
    run: second((_, task, tools) => {
      goDown(tools);
      return task.commit();
    }),
  },
  'a pack after a death': { bulk: PACK, claimed: { attempts: 2, past: [DIED] }, run: (n: number) => n },
  'a pack after two deaths': {
    bulk: PACK,
    claimed: { attempts: 3, past: [DIED, DIED] },
    run: (n: number) => n,
    others: ['t/0/0'],
  },
  'a pack after as many deaths as are allowed': {
    bulk: PACK,
    define: { retry: { maxDeaths: 2 } },
    claimed: { attempts: 3, past: [DIED, DIED] },
    run: (n: number) => n,
    others: ['t/0/0'],
  },
  'a pack after deaths before an operator retried it': {
    bulk: PACK,
    claimed: { attempts: 1, past: [DIED, DIED] },
    run: (n: number) => n,
  },
  'a pack with one attempt, after a death': {
    bulk: PACK,
    define: { retry: { maxAttempts: 1 } },
    claimed: { attempts: 2, past: [DIED] },
    run: (n: number) => n,
    others: ['t/0/0'],
  },
  'a pack after two deaths, of which an item fails': {
    bulk: PACK,
    claimed: { attempts: 3, past: [DIED, DIED] },
    run: second(fails),
    others: ['t/0/0', 't/0/1'],
  },
  'a pack after two deaths, whose suspect cannot leave': {
    bulk: PACK,
    claimed: { attempts: 3, past: [DIED, DIED] },
    before: ({ q }) => q.client.enqueue('work', 'other', { id: 't/0/0' }),
    run: (n: number) => n,
  },
  'a pack after two deaths, whose suspect meets an outage': {
    bulk: PACK,
    claimed: { attempts: 3, past: [DIED, DIED] },
    run: (n: number) => n,
    fails: 'pack move',
  },
  'a pack with a failed record, in the background': {
    bulk: PACK,
    run: (_, __, { q }) => q.clock.sleep(400),
    fails: 'pack record',
  },
};
