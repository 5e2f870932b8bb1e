/** Apart from the tasks themselves, because the producer does not have their code. */
import type { Arm } from './journal.ts';

export const TASK_NAMES: Readonly<Record<Arm, string>> = { fenced: 'chaos.fenced', naive: 'chaos.naive' };
