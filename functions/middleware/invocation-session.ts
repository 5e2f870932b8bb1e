/**
 * One session per invocation: created before the handler, ended after it, however it ends, unless the handler has ended it.
 * Identity is made here and nowhere earlier, because an environment is frozen and reused with its modules as they were.
 */
import type { MiddlewareObj } from '@middy/core';
import { assert } from '../../shared/core/errors.ts';
import type { SkewGauge } from '../../shared/core/lease/skew.ts';
import type { SessionTiming } from '../../shared/core/lease/timing.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import type { SessionEvents } from '../../shared/session/keep-alive.ts';
import { SessionHolder } from '../../shared/session/keep-alive.ts';
import type { SessionStore } from '../../shared/session/session-store.ts';
import type { Context } from './lambda-context.ts';

interface InvocationSessionOptions {
  readonly name: string;
  readonly timing: SessionTiming;
  readonly codeVersion?: string | undefined;
  readonly portsOf: (context: Context) => {
    readonly sessions: SessionStore;
    readonly runtime: Runtime;
    readonly gauge: SkewGauge;
    readonly events: SessionEvents;
    /** The invocation fails with it. */
    readonly onNotOpened: (error: unknown) => void;
  };
}

const sessions = new WeakMap<Context, SessionHolder>();

export function invocationSession(options: InvocationSessionOptions): MiddlewareObj {
  const endSession = async ({ context }: { readonly context: Context }): Promise<void> => {
    await sessions.get(context)?.end();
  };
  return {
    name: 'invocationSession',
    before: async ({ context }) => {
      const { sessions: store, runtime, gauge, events, onNotOpened } = options.portsOf(context);
      const settings = {
        timing: options.timing,
        name: options.name,
        codeVersion: options.codeVersion,
        // Absent if logs do not go to CloudWatch.
        node: context.logStreamName || context.awsRequestId,
        behaviour: 'release',
        // The permits list it.
        listed: false,
      } as const;
      try {
        sessions.set(context, await SessionHolder.create(settings, { store, runtime, gauge, events }));
      } catch (error) {
        onNotOpened(error);
        throw error;
      }
    },
    after: endSession,
    onError: endSession,
  };
}

export function sessionOf(context: Context): SessionHolder {
  const found = sessions.get(context);
  assert(found !== undefined, 'the session middleware has not run for this invocation');
  return found;
}
