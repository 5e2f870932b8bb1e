/** A web page over a table, as `dev` and the demonstration open it if the console is installed. */
import type { Runtime } from '../shared/core/runtime/runtime.ts';

export type OpenPage = (options: PageOptions, runtime: Runtime) => Promise<Page>;

export interface PageOptions {
  readonly table: string;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Partitions of the ready index, as deployed: tasks in others are not seen. */
  readonly shards: number;
  readonly maxClockSkewMs: number;
  /** Queues to show in addition to the queues that have had a worker. */
  readonly queues: readonly string[];
  readonly isReadOnly: boolean;
  /** The operator's name, for the record: credentials identify, this does not. */
  readonly by: string;
  /** 0: any that is free. */
  readonly port: number;
  /** Minimum time between two reads while the page is open. */
  readonly everyMs: number;
  /** Called with a fresh address each time that one has let a browser in. */
  readonly onEntered?: (nextAddress: string) => void;
}

export interface Page {
  /** Returns a new address, which lets one browser in, once. */
  invite(): string;
  close(): Promise<void>;
}
