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
 * Engines that we start keep their data in memory and end with this process, however it ends (see `leash.ts`).
 */
import { ensureEndpoint } from '../shared/dynamo/connect.ts';
import { ConfigurationError } from '../shared/core/errors.ts';
import type { Compiler } from './engine/dynamodb-local.ts';
import { dynamodbLocalEngine } from './engine/dynamodb-local.ts';
import { embeddedEngine, isEmbeddedInstalled } from './engine/embedded.ts';
import { runEngine } from './engine/engine-process.ts';
import { startMemoryEngine } from './engine/memory.ts';
import { probe } from './engine/probe.ts';

export type EngineKind = 'embedded' | 'memory' | 'dynamodb-local' | 'endpoint';

export type EngineOptions =
  /** Without a port, a free one is taken. */
  | { readonly kind: 'embedded' | 'memory'; readonly port?: number | undefined }
  | { readonly kind: 'dynamodb-local'; readonly port?: number | undefined; readonly compiler?: Compiler | undefined }
  | { readonly kind: 'endpoint'; readonly endpoint: string };

export interface Engine {
  readonly kind: EngineKind;
  readonly endpoint: string;
  /** Absent for an engine that was there before us, and for one in this process. */
  readonly pid?: number;
  /** Ends an engine that we started, data included; leaves any other alone. */
  stop(): Promise<void>;
}

/** How long a given endpoint may take to answer at all. */
const PROBE_TIMEOUT_MS = 5_000;

/** What runs without a word of the user's. */
export function defaultEngine(): 'embedded' | 'memory' {
  return isEmbeddedInstalled() ? 'embedded' : 'memory';
}

/** @throws ConfigurationError naming what to install, choose or correct */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  switch (options.kind) {
    case 'embedded':
      return { kind: options.kind, ...(await runEngine(embeddedEngine(), options.port)) };
    case 'memory':
      return { kind: options.kind, ...(await startMemoryEngine(options.port)) };
    case 'dynamodb-local':
      return { kind: options.kind, ...(await runEngine(dynamodbLocalEngine(options.compiler), options.port)) };
    case 'endpoint':
      return useEndpoint(options.endpoint);
  }
}

async function useEndpoint(endpoint: string): Promise<Engine> {
  ensureEndpoint(endpoint);
  const answer = await probe(endpoint, PROBE_TIMEOUT_MS);
  switch (answer.kind) {
    case 'ready':
      return { kind: 'endpoint', endpoint, stop: async () => undefined };
    case 'refused': // What runs here sends the credentials that emulators take.
      throw new ConfigurationError(
        `endpoint ${endpoint} refused a stranger (${answer.reason}): give a DynamoDB that takes any credentials, as emulators do`,
      );
    case 'stranger':
      throw new ConfigurationError(
        `endpoint ${endpoint} answered (${answer.found}), but not as DynamoDB does: check host and port`,
      );
    case 'silent':
      throw new ConfigurationError(
        `endpoint ${endpoint} did not answer (${answer.cause}): check host and port, and that it is running`,
      );
  }
}
