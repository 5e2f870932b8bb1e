/** Gateways for tests: in this process, on a table of the test file's own, and what curl would say to them. */
import { defined } from '../../shared/core/defined.ts';
import type { RunningGateway } from '../http/server.ts';
import { startGateway } from '../http/server.ts';
import type { GatewaySettings } from '../http/gateway.ts';
import { DEFAULT_SETTINGS } from '../http/gateway.ts';
import type { TokenRules } from '../http/tokens.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import type { Meter } from '../../shared/dynamo/engine/meter.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import { Leasehold } from '../../shared/client/leasehold.ts';
import { Remote } from '../remote/remote.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { CommandSettings, RunningCommand } from '../../test/support/command.ts';
import { startCommand } from '../../test/support/command.ts';
import type { CommandTable } from '../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';

export interface TestGateway extends RunningGateway {
  readonly meter: Meter;
  readonly leasehold: Leasehold;
  /** The failures reported to an operator. */
  readonly failures: readonly unknown[];
}

export interface Reply {
  readonly status: number;
  readonly text: string;
  /** Parsed JSON, if it is JSON; numbers beyond JavaScript's precision lose digits. */
  readonly json: unknown;
  readonly index: number;
  readonly headers: Headers;
}

export interface KeyPair {
  readonly Key: string;
  readonly Value: string | null;
  readonly Session?: string;
  readonly LockIndex: number;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
}

/** One table, and any number of gateways on it. */
export class GatewayTable {
  readonly table: CommandTable;
  readonly #running: { close(): Promise<void> }[] = [];

  private constructor(table: CommandTable) {
    this.table = table;
  }

  static async open(endpoint: string | null): Promise<GatewayTable> {
    return new GatewayTable(await openCommandTable(endpoint ?? ''));
  }

  async start(
    settings: Partial<GatewaySettings> & { readonly host?: string } = {},
    tokens?: readonly TokenRules[],
  ): Promise<TestGateway> {
    const { endpoint, table } = this.table;
    const meter = createMeter();
    const connection = connectDynamo({ endpoint }, systemRuntime, meter, { gathers: true });
    const maxClockSkewMs = settings.maxClockSkewMs ?? 100;
    const leasehold = new Leasehold(
      { ...connection, runtime: systemRuntime },
      { table, maxClockSkew: maxClockSkewMs },
      connection,
    );
    const remote = Remote.over({ ...connection, runtime: systemRuntime }, { table, maxClockSkewMs });
    const { host = '127.0.0.1', ...others } = settings;
    const failures: unknown[] = [];
    const running = await startGateway({
      remote,
      runtime: systemRuntime,
      tokens,
      onFailure: ({ error }) => void failures.push(error),
      host,
      port: 0,
      settings: { ...DEFAULT_SETTINGS, node: 'gateway', minTtlMs: 300, maxClockSkewMs, ...others },
    });
    this.#running.push(running);
    return { ...running, meter, leasehold, failures };
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.map((gateway) => gateway.close()));
    closeCommandTable(this.table);
  }
}

/** One request, as `curl -X <method> -d <body> <url>/v1/<path>`. */
export async function ask(
  { url }: { readonly url: string },
  method: string,
  path: string,
  body?: string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const response = await fetch(`${url}/v1/${path}`, { method, headers, ...defined({ body }) });
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  return {
    status: response.status,
    text,
    json: isJson && text !== '' ? JSON.parse(text) : undefined,
    index: Number(response.headers.get('x-consul-index')),
    headers: response.headers,
  };
}

export async function newSession(gateway: { readonly url: string }, entry: object = { TTL: '10s' }): Promise<string> {
  const { json, text } = await ask(gateway, 'PUT', 'session/create', JSON.stringify(entry));
  const { ID } = (json ?? {}) as { readonly ID?: string };
  if (ID === undefined) throw new Error(`no session: ${text}`);
  return ID;
}

export async function pairAt(gateway: { readonly url: string }, key: string): Promise<KeyPair | undefined> {
  const { json } = await ask(gateway, 'GET', `kv/${key}`);
  return (json as readonly KeyPair[] | undefined)?.[0];
}

/** `leasehold consul` as a process, once it listens. */
export async function startGatewayCommand(
  settings: CommandSettings,
  ...argv: readonly string[]
): Promise<{ readonly url: string; readonly command: RunningCommand }> {
  const command = startCommand(settings, 'consul', '--port', '0', '--json', ...argv);
  const url = await new Promise<string>((resolve, reject) => {
    command.process.stdout?.on('data', () => {
      if (command.out().includes('\n')) resolve((JSON.parse(command.out()) as { readonly url: string }).url);
    });
    void command.ended.then(({ err }) => {
      reject(new Error(`leasehold consul ended: ${err}`));
    });
  });
  return { url, command };
}
