/** Finds the unit tests of a file: its own folder's, and the tests that use it most. */
import { existsSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');

const LEFTOVERS = 'test/unit/coordination/leftovers.test.ts';

/** Folders and files whose tests say more about a room than its own. */
const NEIGHBOURS: readonly (readonly [room: string, tests: readonly string[]])[] = [
  ['shared/core/wait', [LEFTOVERS]],
  ['shared/core', ['test/unit/session', 'test/unit/cli/output.test.ts']],
  ['shared/session', ['test/unit/coordination/lock', LEFTOVERS]],
  ['shared/tasks/run', ['test/unit/tasks/task']],
  ['shared/tasks/queue', ['test/unit/tasks/task']],
  ['shared/tasks/worker', ['test/unit/tasks/picker', 'test/unit/client', 'test/unit/tasks/task']],
  ['shared/tasks/rows', ['test/unit/tasks']],
];

/** For rooms outside `shared/`: tests that start no process, because only this process loads the changed code. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  cli: ['test/unit/cli', 'test/cli'],
  console: ['console/test/unit'],
  functions: ['test/functions'],
  infra: ['test/infra'],
  local: ['test/unit/local'],
};

/** @param file its path in the repository. @returns folders and files of tests; none if the room has none here */
export function testsOf(file: string): readonly string[] {
  const neighbours = NEIGHBOURS.filter(([room]) => file.startsWith(`${room}/`)).flatMap(([, tests]) => tests);
  return [...new Set([...ownTests(path.dirname(file)), ...neighbours])];
}

/** @param file its path in the repository. @returns patterns of the conformance tests that use it most */
export function conformanceOf(file: string): readonly string[] {
  return /^shared\/(?:tasks|client|operate)\//.test(file) ? ['test/conformance/task'] : ['test/conformance/*.test.ts'];
}

/** Returns the tests of a room. For a folder of `shared/`, those in the folder with its name, or with the name of its nearest parent. */
function ownTests(folder: string): readonly string[] {
  const [room = ''] = folder.split('/');
  if (room !== 'shared') return ROOMS[room] ?? [];
  const tests = folder.replace(/^shared/, 'test/unit');
  return existsSync(path.join(ROOT, tests)) ? [tests] : ownTests(path.dirname(folder));
}
