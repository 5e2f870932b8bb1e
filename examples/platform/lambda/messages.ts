/**
 * Messages between the platform and an environment, over the forked process's IPC channel.
 * They carry the content of Lambda's Runtime API; payloads stay JSON text, as there.
 */
import type { FunctionError } from './events.ts';

/** The first message: what to load and what it is called. */
export interface InitMessage {
  readonly type: 'init';
  readonly entry: string;
  readonly handler: string;
  readonly functionName: string;
  readonly memoryMb: number;
  readonly logGroupName: string;
  readonly logStreamName: string;
}

export interface InvokeMessage {
  readonly type: 'invoke';
  readonly requestId: string;
  readonly invokedFunctionArn: string;
  /** Wall clock, milliseconds since 1970: when this environment will be killed. */
  readonly deadlineAt: number;
  readonly payload: string;
}

export type PlatformMessage = InitMessage | InvokeMessage;

export type EnvironmentMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'initFailed'; readonly error: FunctionError }
  | {
      readonly type: 'succeeded';
      readonly requestId: string;
      readonly payload: string;
      readonly maxRssMb: number;
    }
  | {
      readonly type: 'failed';
      readonly requestId: string;
      readonly error: FunctionError;
      readonly maxRssMb: number;
      /** The process ends right after this: it was no handler that failed, but something outside of one. */
      readonly fatal: boolean;
    };
