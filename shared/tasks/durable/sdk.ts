/**
 * The SDK that this process has, and whether we know it.
 *
 * `onOperationStart` of a plugin is called before the start of a step is sent if the SDK does not wait for its record, and afterwards if
 * it does. Nothing documents this order, so it counts only for versions with which it was tested. With any other version each start is
 * recorded at once, which is safe and costs a write more.
 */
import type * as Sdk from '@aws/durable-execution-sdk-js';
import { ConfigurationError } from '../../core/errors.ts';
import { warn } from '../../core/runtime/host.ts';

const NAME = '@aws/durable-execution-sdk-js';
const TESTED: ReadonlySet<string> = new Set(['2.4.0']);
const NEEDED = [
  'withDurableExecution',
  'DurableExecutionClientError',
  'DurableExecutionInvocationInputWithClient',
] as const satisfies readonly (keyof typeof Sdk)[];

let hasWarned = false;

/**
 * @returns whether starts of steps may be recorded later
 * @throws ConfigurationError for a version outside of the range, or without what we need
 */
export function judgedSdk(
  sdk: Readonly<Record<string, unknown>>,
  say: (text: string) => void = warn,
): { readonly isTested: boolean } {
  const { SDK_VERSION } = sdk;
  const version = typeof SDK_VERSION === 'string' ? SDK_VERSION.replace(/-bundled$/, '') : undefined;
  const [major = 0, minor = 0] = (version ?? '2.4').split('.').map(Number);
  if (major !== 2 || minor < 4)
    throw new ConfigurationError(`${NAME} is version ${version}: durable tasks need >=2.4 <3, install such a version`);
  const missing = NEEDED.filter((name) => typeof sdk[name] !== 'function');
  if (missing.length > 0)
    throw new ConfigurationError(`${NAME} ${version ?? ''} does not export ${missing.join(', ')}: install 2.4.0`);
  const isTested = version !== undefined && TESTED.has(version);
  if (!isTested && !hasWarned) {
    hasWarned = true;
    say(
      `${NAME} ${version ?? 'of an unknown version'} was not tested with durable tasks: ` +
        'the start of each step is recorded at once, which costs a write more',
    );
  }
  return { isTested };
}
