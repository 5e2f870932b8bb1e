/**
 * The DynamoDB that the laptop works against, behind one endpoint.
 *
 * | kind | what it is | needs |
 * | --- | --- | --- |
 * | `embedded` | a native binary that came with `npm ci`; the default where it is there | a platform that it is built for |
 * | `memory` | the exact table of the test kit, behind HTTP, in this process; the default elsewhere, as in the installed package | nothing |
 * | `dynamodb-local` | AWS's own emulator; the reference for tests | Java 17 or newer |
 * | `endpoint` | a DynamoDB that runs already and takes any credentials, as emulators do | its address |
 *
 * Engines that we start keep their data in memory and end with this process, however it ends (see `bind-to-parent.ts`).
 * They refuse web pages (see `engine/front.ts`).
 */
import { ensureEndpoint } from '../shared/dynamo/wire/endpoint.ts';
import { ConfigurationError } from '../shared/core/errors.ts';
import type { Compiler } from './engine/dynamodb-local.ts';
import { dynamodbLocalEngine } from './engine/dynamodb-local.ts';
import { embeddedEngine, isEmbeddedInstalled } from './engine/embedded.ts';
import type { EngineProcess, EngineProgram } from './engine/engine-process.ts';
import { runBareEngine, runEngine } from './engine/engine-process.ts';
import { startMemoryEngine } from './engine/memory.ts';
import { probe } from './engine/probe.ts';

export type EngineKind = 'embedded' | 'memory' | 'dynamodb-local' | 'endpoint';

interface Listening {
  /** Without one, a free one is taken. */
  readonly port?: number | undefined;
  /** No front, and an address that nobody else knows: for programs that measure an engine, and for test runs. It takes no port. */
  readonly isBare?: boolean | undefined;
}

export type EngineOptions =
  | (Listening & { readonly kind: 'embedded' | 'memory' })
  | (Listening & { readonly kind: 'dynamodb-local'; readonly compiler?: Compiler | undefined })
  | { readonly kind: 'endpoint'; readonly endpoint: string };

export interface Engine {
  readonly kind: EngineKind;
  readonly endpoint: string;
  /** Undefined for an engine that was already running, and for one in this process. */
  readonly pid?: number;
  /** A safety note for its user, in one line. */
  readonly warning?: string;
  /** Ends an engine that we started, data included; leaves any other alone. */
  stop(): Promise<void>;
}

/** Our front is on the loopback, but the emulator has no option for its own port. */
const OPEN_TO_THE_NETWORK =
  'DynamoDB Local listens on every interface of this machine, at a random port, and checks nobody: use it in a network that you trust';
/** How long a given endpoint may take to answer at all. */
const PROBE_TIMEOUT_MS = 5_000;

/** The engine of commands without a choice. */
export function defaultEngine(): 'embedded' | 'memory' {
  return isEmbeddedInstalled() ? 'embedded' : 'memory';
}

/** @throws ConfigurationError naming what to install, choose or correct */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  switch (options.kind) {
    case 'embedded':
      return { kind: options.kind, ...(await run(embeddedEngine(), options)) };
    case 'memory':
      return { kind: options.kind, ...(await startMemoryEngine(options.port)) };
    case 'dynamodb-local':
      return {
        kind: options.kind,
        warning: OPEN_TO_THE_NETWORK,
        ...(await run(dynamodbLocalEngine(options.compiler), options)),
      };
    case 'endpoint':
      return useEndpoint(options.endpoint);
  }
}

function run(program: EngineProgram, { isBare, port }: Listening): Promise<EngineProcess> {
  return isBare === true ? runBareEngine(program) : runEngine(program, port);
}

async function useEndpoint(endpoint: string): Promise<Engine> {
  ensureEndpoint(endpoint);
  const answer = await probe(endpoint, PROBE_TIMEOUT_MS);
  switch (answer.kind) {
    case 'ready':
      return { kind: 'endpoint', endpoint, stop: async () => undefined };
    case 'refused': // Our processes send the credentials that emulators accept.
      throw new ConfigurationError(
        `endpoint ${endpoint} refused unknown credentials (${answer.reason}): pass a DynamoDB that takes any credentials, as emulators do`,
      );
    case 'stranger':
      throw new ConfigurationError(
        `endpoint ${endpoint} answered (${answer.found}), but not like DynamoDB: check host and port`,
      );
    case 'silent':
      throw new ConfigurationError(
        `endpoint ${endpoint} did not answer (${answer.cause}): check host and port, and that it is running`,
      );
  }
}
