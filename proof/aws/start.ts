/** A function as heavy to load as a worker, that notes when its first line ran, and whether its environment is new. */
import { setTimeout as wait } from 'node:timers/promises';
import { createWorkHandler } from '../../functions/work.ts';
import { startKey } from './settings.ts';
import * as tasks from './tasks.ts';

interface StartEvent {
  readonly id: string;
  readonly sentAt: number;
  /** Keeps this environment busy, so that others are started cold. */
  readonly holdMs: number;
}

let isCold = true;
/** Loads as much as a worker does. */
createWorkHandler(tasks);

export async function handler({ id, sentAt, holdMs }: StartEvent): Promise<void> {
  const firstLineMs = Date.now() - sentAt;
  const wasCold = isCold;
  isCold = false;
  // Loaded late: a worker does not load the SDK either.
  const { putEffect } = await import('./effects.ts');
  await Promise.all([wait(holdMs), putEffect({ id: startKey(id), firstLineMs, isCold: wasCold })]);
}
