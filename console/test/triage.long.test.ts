/** Thousands of dead tasks. */
import { describeTriageOf } from './support/triage.ts';

describeTriageOf(5_000);
