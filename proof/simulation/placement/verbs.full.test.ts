/** The placements are of every verb: one that is new needs a flow, or a reason. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CALLS } from './calls.ts';
import { FLOWS } from './flows.ts';
import { play } from './stage.ts';

const STATEMENTS = readFileSync(new URL('../../../test/unit/dynamo/statements.golden.txt', import.meta.url), 'utf8');

/** Why no flow sends them. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'needs other work while it runs: worlds with floods': ['task.promote'],
  'settles an acquire whose attempts all went unanswered, which one fault cannot do: worlds of long-lived users': [
    'lock.bar',
    'lock.disown',
    'semaphore.forgo',
  ],
  'by long-lived workers, or by dispatchers with several of them: the worlds stays and fanout': [
    'queue.announceNames',
    'queue.noteStarts',
    'schedule.advance',
  ],
  'repairs rows that were deleted, edited or restored': ['line.pass', 'epoch.raise', 'key.recount'],
  'of durable tasks, whose own tests kill them at each request': [
    'arrival.put',
    'task.arrive',
    'task.beat',
    'task.checkpoint',
    'task.spill',
    'task.suspend',
  ],
  'of the gateway for Consul, which has its own tests': ['lock.commit', 'session.renewRemote'],
  'of the command line and the console: no other row depends on it': ['audit.begin', 'audit.end', 'failure.get'],
};

test('each verb is sent by the process that gets the faults', async () => {
  const sent = new Set<string>();
  for (const flow of [...FLOWS, ...CALLS]) for (const verb of (await play(flow, [])).verbs) sent.add(verb);

  const verbs = [...STATEMENTS.matchAll(/^## (\S+)$/gm)].map(([, verb]) => verb ?? '');
  expect(verbs.filter((verb) => !sent.has(verb)).sort()).toEqual(Object.values(ELSEWHERE).flat().sort());
});
