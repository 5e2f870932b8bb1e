/** Blind bugs in `cli`, `console`, `functions` and `infra`. No test found them at first. */
import type { BlindBug } from './bug.ts';

export const BY_READERS_OF_PROGRAMS: readonly BlindBug[] = [
  {
    id: 'N137',
    what: 'An invocation ends while its permit is still being released.',
    file: 'functions/work.ts',
    from: `await permit.permit\n          .release()`,
    to: `void permit.permit\n          .release()`,
    test: 'test/functions/continuation.test.ts',
    title: 'has released its permit before it ends its session',
  },
  {
    id: 'N166',
    what: '--shards is ignored.',
    file: 'cli/connection.ts',
    from: 'const ofItsShards = createStores(sender, { table, shards });',
    to: 'const ofItsShards = stores;',
    test: 'test/cli/enqueue.test.ts',
    title: 'puts tasks into the shards that it is told of',
  },
  {
    id: 'N168',
    what: 'Functions trace before they may.',
    file: 'infra/handler-function.ts',
    from: `    this.function.node.addDependency(policy);\n`,
    to: '',
    test: 'test/infra/task-workers.test.ts',
    title: 'trace only once they have the rights',
  },
];
