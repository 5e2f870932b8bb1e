import { COORDINATION_MUTANTS } from './coordination.ts';
import { DURABLE_MUTANTS } from './durable.ts';
import { FAMILY_MUTANTS } from './families.ts';
import { INPUT_MUTANTS } from './inputs.ts';
import { LIVENESS_MUTANTS } from './liveness.ts';
import { LOCK_MUTANTS } from './locks.ts';
import type { Mutant } from '../change.ts';
import { PICKING_MUTANTS } from './picking.ts';
import { PLANNING_MUTANTS } from './planning.ts';
import { SENDER_MUTANTS } from './sender.ts';
import { SESSION_MUTANTS } from './sessions.ts';
import { TASK_MUTANTS } from './tasks.ts';

export const MUTANTS: readonly Mutant[] = [
  ...[...TASK_MUTANTS, ...FAMILY_MUTANTS, ...INPUT_MUTANTS, ...SESSION_MUTANTS],
  ...[...LOCK_MUTANTS, ...COORDINATION_MUTANTS, ...SENDER_MUTANTS, ...LIVENESS_MUTANTS, ...PLANNING_MUTANTS],
  ...[...PICKING_MUTANTS, ...DURABLE_MUTANTS],
];
