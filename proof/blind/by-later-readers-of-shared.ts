/** Blind bugs in `shared/`, by a later reader. No test found them at first. */
import type { BlindBug } from './bug.ts';

export const BY_LATER_READERS_OF_SHARED: readonly BlindBug[] = [
  {
    id: 'N147',
    what: 'Enqueues to one engine wake the workers of another.',
    file: 'shared/client/process-enqueues.ts',
    from: 'JSON.stringify([endpoint ?? region, table])',
    to: 'JSON.stringify([region, table])',
    test: 'test/unit/tasks/queue/enqueue-bus.test.ts',
    title: 'wake no worker of another endpoint',
  },
  {
    id: 'N174',
    what: 'The successor of one of several shards is never read.',
    file: 'shared/dynamo/table-stream.ts',
    from: 'haveEnded = next.length < shards.length;',
    to: 'haveEnded = next.length === 0;',
    test: 'test/unit/dynamo/table-stream.test.ts',
    title: 'is followed from each to its successor',
  },
  {
    id: 'N179',
    what: 'Settings of a client are ignored for a local endpoint.',
    file: 'shared/dynamo/connect.ts',
    from: `      ...local,\n      ...clientConfig,\n`,
    to: `      ...clientConfig,\n      ...local,\n`,
    test: 'test/unit/dynamo/connect.test.ts',
    title: 'says to an emulator what the settings of its client say',
  },
];
