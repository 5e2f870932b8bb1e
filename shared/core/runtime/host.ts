/**
 * Facilities of the host beyond the web's standards. We look them up and never import them.
 *
 * `shared/` also runs without Node: in isolates at the edge and in browsers. Node only adds speed and better messages,
 * and for each facility we have our own version, or a refusal that names what is missing.
 */
import type * as NodeAsyncHooks from 'node:async_hooks';
import type { Buffer as NodeBuffer } from 'node:buffer';
import type * as NodeCrypto from 'node:crypto';
import type * as NodeUtil from 'node:util';
import type * as NodeZlib from 'node:zlib';
import { defined } from '../defined.ts';

interface Modules {
  readonly 'node:async_hooks': typeof NodeAsyncHooks;
  readonly 'node:crypto': typeof NodeCrypto;
  readonly 'node:util': typeof NodeUtil;
  readonly 'node:zlib': typeof NodeZlib;
}

interface Host {
  readonly process?: {
    getBuiltinModule?(name: string): unknown;
    emitWarning?(message: string, options: { readonly type: string; readonly detail?: string }): void;
  };
  readonly Buffer?: typeof NodeBuffer;
}

const host = globalThis as Host;

/** Returns a built-in module of Node; undefined elsewhere. A host with a partial version may lack the needed functions. */
export function hostModule<Name extends keyof Modules>(name: Name): Partial<Modules[Name]> | undefined {
  return host.process?.getBuiltinModule?.(name) as Partial<Modules[Name]> | undefined;
}

/** Node's buffers; undefined elsewhere. */
export const HostBuffer = host.Buffer;

/** Warns the operators of this process, once per call: with a process warning if the host has them, otherwise on the console. */
export function warn(message: string, detail?: string): void {
  const options = { type: 'LeaseholdWarning', ...defined({ detail }) };
  if (host.process?.emitWarning !== undefined) host.process.emitWarning(message, options);
  else console.warn(`LeaseholdWarning: ${message}`, ...(detail === undefined ? [] : [detail]));
}
