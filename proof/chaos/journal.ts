/**
 * The workers' record of their actions: one line per event, appended to one file by all processes.
 *
 * A line is one `write` to a file opened for appending,
 * so lines of different processes do not mix, and a written line survives its writer.
 * The file is neither fenced nor atomic with anything else: it shows that execution is at least once,
 * while the ledger in the table shows that effects happen once.
 * Times come from the machine's monotonic clock, which all processes share whatever their wall clocks say.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import type { Arm } from './profile.ts';

export type JournalEntry =
  | {
      readonly kind: 'began';
      readonly arm: Arm;
      readonly task: string;
      readonly attempt: number;
      readonly token: number;
    }
  /** The effect was acknowledged to the task code. */
  | { readonly kind: 'committed'; readonly arm: Arm; readonly task: string; readonly token: number }
  | {
      readonly kind: 'granted';
      readonly arm: Arm;
      readonly key: string;
      readonly token: number;
      readonly session: string;
      /** When the holder began to ask. */
      readonly askedAt: number;
    }
  /** Taken before the holder checked, and written while it still trusted: it trusted its session at `at`. */
  | { readonly kind: 'believed'; readonly arm: Arm; readonly key: string; readonly token: number }
  /** A write of this element was acknowledged. */
  | { readonly kind: 'acknowledged'; readonly arm: Arm; readonly key: string; readonly element: string }
  /** An error. Errors of the library count for the fenced arm, whichever code called it. */
  | { readonly kind: 'trouble'; readonly arm: Arm; readonly error: string; readonly message: string };

export type JournalLine = JournalEntry & { readonly at: number; readonly who: string };

export class Journal {
  readonly #file: string;
  readonly #who: string;

  constructor(file: string, who: string) {
    this.#file = file;
    this.#who = who;
  }

  write(entry: JournalEntry, at = machineMs()): void {
    appendFileSync(this.#file, `${JSON.stringify({ at, who: this.#who, ...entry })}\n`);
  }
}

export function readJournal(file: string): JournalLine[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JournalLine);
}

/** Milliseconds of the machine, the same for all processes. */
export function machineMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
