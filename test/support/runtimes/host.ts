/** The tests' interface to isolates of another runtime that do errands. */
import type { Answers, Errand, Tenure } from './scenario.ts';

export interface RuntimeHost extends AsyncDisposable {
  /** Sends an isolate on an errand. @throws what it threw */
  ask<Kind extends Errand['kind']>(
    isolate: number,
    errand: Extract<Errand, { readonly kind: Kind }>,
  ): Promise<Answers[Kind]>;
  /** Has an isolate take a lock and keep it, with its heartbeat. */
  hold(isolate: number, key: string): Promise<Tenure>;
  /** Ends an isolate where it stands, whatever it holds; others of its process may end with it. */
  kill(isolate: number): Promise<void>;
}

export interface HostSettings {
  readonly binary: string;
  readonly isolates: number;
  readonly table: string;
  readonly endpoint: string;
}
