/**
 * The DynamoDB engines of a test run: started once, shared by every file, each file in tables of its own.
 */
import type { Engine } from '../../local/engine.ts';
import { startEngine } from '../../local/engine.ts';
import { ConfigurationError } from '../../shared/errors.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** `null` without Java: the suites that need it are skipped (in CI the run fails instead). */
    dynamodbLocalEndpoint: string | null;
    /** `null` on a platform that it is not built for. */
    embeddedEndpoint: string | null;
  }
}

export interface TestEngines {
  readonly dynamodbLocal: Engine | null;
  readonly embedded: Engine | null;
  stop(): Promise<void>;
}

/**
 * Starts what this machine can run.
 * @param options.required whether an engine that cannot run fails the run instead of leaving out its tests
 * @param options.tell prints the one line that says what is left out and why
 * @throws ConfigurationError
 */
export async function startTestEngines(options: {
  readonly required: boolean;
  readonly tell: (line: string) => void;
}): Promise<TestEngines> {
  const [dynamodbLocal, embedded] = await Promise.all([
    startOrExplain('dynamodb-local', options),
    startOrExplain('embedded', options),
  ]);
  return {
    dynamodbLocal,
    embedded,
    async stop() {
      await Promise.all([dynamodbLocal?.stop(), embedded?.stop()]);
    },
  };
}

async function startOrExplain(
  kind: 'dynamodb-local' | 'embedded',
  { required, tell }: { readonly required: boolean; readonly tell: (line: string) => void },
): Promise<Engine | null> {
  try {
    return await startEngine({ kind });
  } catch (error) {
    if (required || !(error instanceof ConfigurationError)) throw error;
    tell(`skipping the tests that need it: ${error.message}`);
    return null;
  }
}
