/**
 * The embedded engine: dynoxide, a native binary that comes with `npm ci`, keeps everything in memory and starts in milliseconds.
 * It is not AWS's code. test/support/dynamo-programs/allowed-divergences.ts lists its errors,
 * and the conformance tests also run on DynamoDB Local.
 */
import { createRequire } from 'node:module';
import path from 'node:path';
import { ConfigurationError } from '../../shared/core/errors.ts';
import type { EngineProgram } from './engine-process.ts';

/** @throws ConfigurationError if there is no build for this machine */
export function embeddedEngine(): EngineProgram {
  return {
    name: 'the embedded engine',
    command: locateBinary(),
    args: ({ host, port }) => ['--host', host, '--port', String(port)],
    readyWithinMs: 10_000,
    explain: ({ startCode }) => (startCode === undefined ? undefined : unavailable(startCode)),
  };
}

export function isEmbeddedInstalled(): boolean {
  try {
    locateBinary();
    return true;
  } catch {
    return false;
  }
}

function locateBinary(): string {
  const name = `@dynoxide/${process.platform}-${process.arch}`;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return path.join(path.dirname(manifest), 'dynoxide');
  } catch (error) {
    throw new ConfigurationError(unavailable('not installed'), { cause: error });
  }
}

function unavailable(found: string): string {
  return (
    `the embedded engine does not run on ${process.platform}-${process.arch} (${found}): ` +
    `use --engine memory, or --engine <url> of a DynamoDB of your own`
  );
}
