/**
 * The embedded engine: dynoxide, a native binary that comes with `npm ci`, keeps everything in memory and is up in milliseconds.
 * It is not AWS's code; what it gets wrong is listed in test/support/dynamo-programs/allowed-divergences.ts,
 * and the conformance tests run on DynamoDB Local as well.
 */
import { createRequire } from 'node:module';
import path from 'node:path';
import { ConfigurationError } from '../../shared/core/errors.ts';
import type { EngineProgram } from './engine-process.ts';

/** @throws ConfigurationError where there is no build for this machine */
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
