/**
 * Larger models of the same modules: a worker, task or fault more than their small brothers in `models.ts` have. Each takes a minute to
 * several on one core, so `npm run spec` leaves them out; `npm run spec -- --larger` and `proof/spec/larger.long.test.ts` search them.
 */
import { MODELS } from './models.ts';
import type { Model } from './models.ts';

const WORKERS = { c: 'c', Workers: '{a, b, c}' };

const TASK = brother('task-work');
const LOCK = brother('lock-work');
const FLEET = brother('fleet');
const KEY = brother('key');
const LINE = brother('line');

export const LARGER: readonly Model[] = [
  {
    ...TASK,
    name: 'task-three',
    constants: { ...TASK.constants, ...WORKERS, Faults: '1' },
    what: 'three workers contend for a task: the third one buries it when two have lost their sessions',
    without: TASK.without.filter((action) => action !== 'Bury'),
  },
  {
    ...LOCK,
    name: 'lock-two-faults',
    constants: { ...LOCK.constants, Delay: '1', Faults: '2' },
    what: 'a lock with a delay, and two faults; sessions are shorter than the delay, so no contender lives to take over: it settles',
    without: [...LOCK.without, 'TakeOver'],
  },
  {
    ...FLEET,
    name: 'fleet-three',
    constants: { ...FLEET.constants, ...WORKERS },
    what: 'three workers contend for the permits of two rows, while the limit is dealt anew',
  },
  {
    ...KEY,
    name: 'key-three',
    constants: { ...KEY.constants, Tasks: '3', Limit: '2' },
    what: 'three tasks of a key with two places',
    without: ['Retry'],
  },
  {
    ...LINE,
    name: 'line-late',
    constants: { ...LINE.constants, Tickets: '2', MaxClaims: '1', MaxNet: '2' },
    what: 'two tasks of a line, two requests under way',
    without: ['Retry'],
  },
];

function brother(wanted: string): Model {
  const model = MODELS.find(({ name }) => name === wanted);
  if (model === undefined) throw new Error(`there is no model ${wanted}`);
  return model;
}
