/**
 * A loop that reads, writes on what it saw, and goes round when another was faster is `retryContended`: it pauses, reads after each pause,
 * and ends with its time. So every loop without an end of its own is listed here, with what it does instead.
 */
import path from 'node:path';
import { expect, test } from 'vitest';
import { sourcesOf } from '../support/import-graph.ts';

const OPEN_LOOP =
  /\b(?:for \(;;|while \(true\)|for \(let \w+ = \d+(?:, \w+ = \d+)*; ;|for \(let (?:round|attempt|attempts|tries) = )/g;
const PLACES = /^(?:shared|consul|console|functions|cli)\/(?!.*\b(?:test|testing|bench)\/)/;

const PAGES = 'reads page after page';
const WAITS = 'waits, and sends nothing that another may overtake';

const LOOPS: Readonly<Record<string, string>> = {
  'shared/core/wait/retry-contended.ts': 'the loop itself',
  'shared/dynamo/engine/send.ts': 'attempts of one request, within its budget and with pauses',
  'shared/dynamo/engine/batches.ts': 'keys that DynamoDB has left out',
  'shared/dynamo/engine/directory.ts': PAGES,
  'shared/dynamo/wire/web-body.ts': 'reads a stream',
  'shared/core/runtime/deflate.ts': 'reads a stream',
  'shared/core/wait/wait.ts': WAITS,
  'shared/session/keep-alive.ts': 'heartbeats',
  'shared/coordination/lock/lock-contender.ts': 'two rounds: the second judges the session that the first has met',
  'shared/coordination/lock/several-locks.ts': 'two rounds, likewise; and each round has one lock less that was lost',
  'shared/coordination/lock/lock.ts':
    'its holder alone writes the row, within its trust; an operator may do so once in between',
  'shared/coordination/waitgroup/group.ts': 'a second lease of a member ends it, and members are read page after page',
  'shared/tasks/queue/cancel-selection.ts':
    'each round has fewer tasks, which were created before the call; after 40 it ends and says what it has cancelled',
  'shared/tasks/queue/listing.ts': PAGES,
  'shared/tasks/queue/results.ts': WAITS,
  'shared/tasks/durable/durable-task.ts': 'one round for each suspension of its code',
  'shared/tasks/durable/journal.ts': 'each refusal is an arrival in its journal, of which there are only so many',
  'shared/tasks/dispatch/wake.ts': 'a few notes of its starts at most: its decision counts without them',
  'shared/tasks/picker/task-picker.ts': 'each round has fewer candidates',
  'shared/tasks/run/claim-writer.ts': 'one end, until its outcome is known or trust is over, with pauses',
  'shared/client/run-with-schedules.ts': WAITS,
  'consul/remote/sessions.ts': 'a new id each round, until one is free',
  'console/server/views/tasks.ts': PAGES,
  'functions/worker-invoker.ts': 'starts that Lambda has throttled, with pauses',
  'functions/worker-metrics.ts': WAITS,
  'cli/commands/locks.ts': WAITS,
  'cli/commands/queues.ts': WAITS,
};

const loopsIn = (text: string): number => text.match(OPEN_LOOP)?.length ?? 0;

test('every other loop of a writer is listed, with what it does', () => {
  const found = sourcesOf(path.join(import.meta.dirname, '../..'))
    .filter((source) => PLACES.test(source.path) && loopsIn(source.text) > 0)
    .map((source) => source.path);

  expect(found.toSorted()).toEqual(Object.keys(LOOPS).toSorted());
});

test.each([
  'for (;;) {',
  'while (true) {',
  'for (let round = 1; round <= 50; round++) {',
  'for (let n = 0; ; n++) {',
  'for (let attempt = 1, pauses = 0; ; attempt++)',
])('finds %s', (line) => {
  expect(loopsIn(line)).toBe(1);
});
