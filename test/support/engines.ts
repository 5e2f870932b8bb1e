/**
 * The DynamoDB engines of a test run: started once, shared by every file, each file in tables of its own.
 */
import type { Engine } from '../../local/engine.ts';
import { startEngine } from '../../local/engine.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** `null` without Java: the suites that need it are skipped (in CI the run fails instead). */
    dynamodbLocalEndpoint: string | null;
    /** `null` on a platform that it is not built for. */
    embeddedEndpoint: string | null;
    missingEngines: readonly MissingEngine[];
  }
}

interface MissingEngine {
  readonly kind: 'dynamodb-local' | 'embedded';
  /** What is not there, and how to get it. */
  readonly needs: string;
}

interface TestEngines {
  readonly dynamodbLocal: Engine | null;
  readonly embedded: Engine | null;
  readonly missing: readonly MissingEngine[];
  stop(): Promise<void>;
}

/**
 * Starts what this machine can run.
 * @param options.required whether an engine that cannot run fails the run instead of leaving out its tests
 * @throws ConfigurationError
 */
export async function startTestEngines(options: { readonly required: boolean }): Promise<TestEngines> {
  const missing: MissingEngine[] = [];
  const start = async (kind: MissingEngine['kind']): Promise<Engine | null> => {
    try {
      return await startEngine({ kind, isBare: true });
    } catch (error) {
      if (options.required || !(error instanceof ConfigurationError)) throw error;
      missing.push({ kind, needs: error.message });
      return null;
    }
  };
  const [dynamodbLocal, embedded] = await Promise.all([start('dynamodb-local'), start('embedded')]);
  return {
    dynamodbLocal,
    embedded,
    missing,
    async stop() {
      await Promise.all([dynamodbLocal?.stop(), embedded?.stop()]);
    },
  };
}
