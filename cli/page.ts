/** A web page for a table, which `dev` and the demonstration open if the console is installed. */
import type { Runtime } from '../shared/core/runtime/runtime.ts';

export type OpenPage = (options: PageOptions, runtime: Runtime) => Promise<Page>;

export interface PageOptions {
  readonly table: string;
  readonly endpoint?: string | undefined;
  readonly allowHttp?: boolean | undefined;
  readonly region?: string | undefined;
  /** Partitions of the ready index, as deployed. Tasks in other partitions are not shown. */
  readonly shards: number;
  readonly maxClockSkewMs: number;
  /** Queues to show in addition to the queues that have had a worker. */
  readonly queues: readonly string[];
  readonly isReadOnly: boolean;
  /** The operator's name, for the record only: credentials identify the caller, this does not. */
  readonly by: string;
  /** 0: any free port. */
  readonly port: number;
  /** Minimum time between two reads while the page is open. */
  readonly everyMs: number;
  /** Called with a new address each time a browser has used the last one. */
  readonly onEntered?: (nextAddress: string) => void;
}

export interface Page {
  /** Returns a new address that admits one browser, once. */
  invite(): string;
  close(): Promise<void>;
}
