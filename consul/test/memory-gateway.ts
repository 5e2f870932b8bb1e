/** A gateway in this process on the simulated store, whose clock the test moves: for many small runs, each on its own table. */
import { defined } from '../../shared/core/defined.ts';
import { createConsulApp } from '../http/app.ts';
import { DEFAULT_SETTINGS } from '../http/gateway.ts';
import type { TokenRules } from '../http/tokens.ts';
import type { World } from '../../test/support/coordination.ts';
import { simulatedWorld } from '../../test/support/coordination.ts';
import { remoteOf } from './remote-of.ts';

export interface MemoryGateway {
  readonly world: World;
  readonly ask: (
    method: string,
    path: string,
    body?: string,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<{ readonly status: number; readonly text: string; readonly headers: Headers }>;
  /** Requests to the store so far. */
  requests(): number;
  /** The failures reported to an operator. */
  readonly failures: readonly unknown[];
  /** Sessions of this node, without a TTL unless the entry says otherwise. */
  newSession(entry?: object, headers?: Readonly<Record<string, string>>): Promise<string>;
}

export function openMemoryGateway(tokens?: readonly TokenRules[]): MemoryGateway {
  const world = simulatedWorld();
  const process = world.start();
  const { runtime } = process;
  let requests = 0;
  const attempt = process.driver.attempt.bind(process.driver);
  process.driver.attempt = (...asked) => {
    requests++;
    return attempt(...asked);
  };
  const failures: unknown[] = [];
  const app = createConsulApp({
    remote: remoteOf(process),
    runtime,
    tokens,
    closing: new AbortController().signal,
    onFailure: ({ error }) => {
      failures.push(error);
    },
    settings: { ...DEFAULT_SETTINGS, node: 'gateway', maxClockSkewMs: 100 },
  });
  const ask: MemoryGateway['ask'] = async (method, path, body, headers = {}) => {
    const init = { method, headers, ...defined({ body }) };
    const response = await app.fetch(new Request(`http://gateway/v1/${path}`, init), { target: `/v1/${path}` });
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
  return {
    world,
    failures,
    requests: () => requests,
    ask,
    async newSession(entry = {}, headers) {
      const { text } = await ask('PUT', 'session/create', JSON.stringify(entry), headers);
      return (JSON.parse(text) as { readonly ID: string }).ID;
    },
  };
}
