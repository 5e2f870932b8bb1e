/** An in-memory store for large inputs; production uses a bucket. */
import type { PayloadStore } from '../tasks/task/payload.ts';

/** Keeps large inputs in this process, for a test. */
export class MemoryPayloads implements PayloadStore {
  readonly #texts = new Map<string, string>();

  /** References of the stored inputs. A test can delete one to see how its task behaves without its input. */
  get references(): readonly string[] {
    return [...this.#texts.keys()];
  }

  put(name: string, text: string): Promise<string> {
    this.#texts.set(name, text);
    return Promise.resolve(name);
  }

  get(reference: string): Promise<string | undefined> {
    return Promise.resolve(this.#texts.get(reference));
  }

  delete(reference: string): Promise<void> {
    this.#texts.delete(reference);
    return Promise.resolve();
  }
}
