/**
 * Notices when a file that a worker has loaded is saved, in place or by renaming another file onto it.
 *
 * It watches folders, because a watch on a file follows the old file when an editor renames a new one onto its name.
 * The worker reports the version of each file before it reads it, so a save between its reading and our watch is noticed, too.
 */
import type { FSWatcher } from 'node:fs';
import { watch } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import { fileVersion } from './file-version.ts';

/** Editors save in several steps. */
const SETTLE_MS = 50;

export class CodeWatch implements Disposable {
  readonly #clock: Clock;
  readonly #folders = new Map<string, FSWatcher>();
  /** Absolute paths, and the version that the worker has loaded. */
  readonly #loaded = new Map<string, string>();
  /** Files with a notification that is not checked yet. */
  readonly #heard = new Set<string>();
  #wake: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Forgets all files, because another worker is about to report its own. Folders stay watched. */
  reset(): void {
    this.#loaded.clear();
  }

  add(file: string, version: string): void {
    this.#loaded.set(file, version);
    this.#watchFolder(path.dirname(file));
    this.#hear(file);
  }

  /** Resolves with the first file whose version differs from the loaded one; undefined if `signal` aborts. */
  async changed(signal: AbortSignal): Promise<string | undefined> {
    const wake = (): void => this.#wake();
    const isOver = (): boolean => signal.aborted;
    signal.addEventListener('abort', wake, { once: true });
    try {
      while (!isOver()) {
        const changed = this.#takeChanged();
        if (changed === undefined) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          continue;
        }
        await this.#clock.sleep(SETTLE_MS, signal);
        if (isOver()) {
          // For the next caller: this is the only notice of the change.
          this.#heard.add(changed);
          return undefined;
        }
        // An editor may have moved the file away and not brought the new one yet.
        if (fileVersion(changed) !== 'missing') return changed;
      }
      return undefined;
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  #hear(file: string): void {
    this.#heard.add(file);
    this.#wake();
  }

  #takeChanged(): string | undefined {
    const files = [...this.#heard];
    this.#heard.clear();
    return files.find((file) => this.#isChanged(file));
  }

  #isChanged(file: string): boolean {
    const loaded = this.#loaded.get(file);
    return loaded !== undefined && loaded !== fileVersion(file);
  }

  #watchFolder(folder: string): void {
    if (this.#folders.has(folder)) return;
    try {
      const watcher = watch(folder, (_event, name) => {
        if (name !== null) this.#hear(path.join(folder, name));
      });
      watcher.on('error', () => {
        watcher.close();
        this.#folders.delete(folder);
      });
      this.#folders.set(folder, watcher);
    } catch {
      // The folder does not exist, so nothing in it can be saved.
    }
  }

  [Symbol.dispose](): void {
    for (const watcher of this.#folders.values()) watcher.close();
  }
}
