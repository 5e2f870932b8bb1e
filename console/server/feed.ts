/** The one loop that polls the table while a page is open. All viewers share it; without viewers it pauses. */
import { messageOf } from '../../shared/core/errors.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import type { OverviewReader } from './views/overview.ts';
import type { Overview } from '../model.ts';

export type News =
  /** `nextInMs`: the pause before the next poll, so a page can see that a poll is overdue. */
  | { readonly kind: 'overview'; readonly overview: Overview; readonly nextInMs: number }
  /** The poll failed; the next one follows. */
  | { readonly kind: 'failure'; readonly message: string };

type Viewer = (news: News) => void;

interface FeedOptions {
  readonly runtime: Runtime;
  readonly everyMs: number;
  /** Most read units a second: an expensive poll is followed by a longer pause. */
  readonly unitsPerSecond: number;
}

export class Feed {
  readonly #reader: OverviewReader;
  readonly #options: FeedOptions;
  readonly #viewers = new Set<Viewer>();
  #last: News | undefined;
  #loop: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;
  /** Ends the pause between two polls. */
  #hurry = new AbortController();

  constructor(reader: OverviewReader, options: FeedOptions) {
    this.#reader = reader;
    this.#options = options;
  }

  /** Whether it is polling. */
  get isRunning(): boolean {
    return this.#loop !== undefined;
  }

  /** Sends a viewer the last poll at once, and every later one. @returns stops sending */
  join(viewer: Viewer): () => void {
    this.#viewers.add(viewer);
    if (this.#loop === undefined) this.#start();
    else if (this.#last !== undefined) viewer(this.#last);
    return () => {
      this.#viewers.delete(viewer);
      if (this.#viewers.size === 0) this.#stop();
    };
  }

  /** Polls at once, or right after the current poll, because an action has changed something. */
  hurry(): void {
    this.#hurry.abort();
  }

  async close(): Promise<void> {
    this.#viewers.clear();
    const ended = this.#loop?.ended;
    this.#stop();
    await ended;
  }

  #start(): void {
    const stop = new AbortController();
    this.#loop = { stop, ended: this.#run(stop.signal) };
  }

  #stop(): void {
    this.#loop?.stop.abort();
    this.#loop = undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { runtime, everyMs, unitsPerSecond } = this.#options;
    while (!signal.aborted) {
      this.#hurry = new AbortController();
      let pauseMs = everyMs;
      try {
        const units = await this.#reader.read();
        pauseMs = Math.max(everyMs, (units / unitsPerSecond) * 1_000);
        this.#tell({ kind: 'overview', overview: this.#reader.overview(), nextInMs: pauseMs }, signal);
      } catch (error) {
        this.#tell({ kind: 'failure', message: messageOf(error) }, signal);
      }
      await runtime.clock.sleep(pauseMs, AbortSignal.any([signal, this.#hurry.signal]));
    }
  }

  #tell(news: News, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#last = news;
    for (const viewer of this.#viewers) viewer(news);
  }
}
