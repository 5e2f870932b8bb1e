/** The short flows of the library, each with the condition that must hold for later users. */
import { SESSION_FLOWS } from './session-flows.ts';
import type { Flow } from './stage.ts';
import { TASK_FLOWS } from './task-flows.ts';

export const FLOWS: readonly Flow[] = [...SESSION_FLOWS, ...TASK_FLOWS];
