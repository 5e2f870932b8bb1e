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

/** A module of Node's own; undefined elsewhere. A host that has part of it may lack what is asked of it. */
export function hostModule<Name extends keyof Modules>(name: Name): Partial<Modules[Name]> | undefined {
  return host.process?.getBuiltinModule?.(name) as Partial<Modules[Name]> | undefined;
}

/** Node's buffers; undefined elsewhere. */
export const HostBuffer = host.Buffer;

/** Warns the people who run this process, once per call: as a process warning if there is a process, else on the console. */
export function warn(message: string, detail?: string): void {
  const options = { type: 'LeaseholdWarning', ...(detail !== undefined && { detail }) };
  if (host.process?.emitWarning !== undefined) host.process.emitWarning(message, options);
  else console.warn(`LeaseholdWarning: ${message}`, ...(detail === undefined ? [] : [detail]));
}
