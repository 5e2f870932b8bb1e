/** Before each file of tests: a process has one watch, also where it runs many files. */
import { beforeEach } from 'vitest';
import { watchSpins } from './spin-watch.ts';

const shared = globalThis as { tellSpinWatch?: (what: string) => void };
const tell = (shared.tellSpinWatch ??= watchSpins());

beforeEach(({ task }) => tell(`${task.file.name} > ${task.name}`));
