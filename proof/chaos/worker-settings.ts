/** The harness's settings for the processes that it starts, as one environment variable. */
import { Journal } from './journal.ts';

export interface WorkerSettings {
  readonly seed: string;
  readonly journal: string;
  readonly ledgerTable: string;
  readonly registerTable: string;
}

export const SETTINGS_VARIABLE = 'LEASEHOLD_CHAOS';

export function workerSettings(): WorkerSettings {
  const text = process.env[SETTINGS_VARIABLE];
  if (text === undefined) throw new Error(`${SETTINGS_VARIABLE} is not set: the harness sets it`);
  return JSON.parse(text) as WorkerSettings;
}

/** This process's name: the platform labels each environment's process with its function and its id. */
export function environmentId(): string {
  return process.argv[3] ?? 'unknown';
}

export function openJournal(): Journal {
  return new Journal(workerSettings().journal, environmentId());
}
