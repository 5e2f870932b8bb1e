/**
 * What the host has beyond the standards of the web: asked for, never imported.
 *
 * `shared/` runs where there is no Node: in isolates at the edge, in browsers. What it takes from Node is speed and better words,
 * and for each of these there is a version of our own, or a refusal that says what is missing.
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

/** Tells the people who run this process, once for each call: a warning of the process where there is one, else the console. */
export function warn(message: string, detail?: string): void {
  const options = { type: 'LeaseholdWarning', ...(detail !== undefined && { detail }) };
  if (host.process?.emitWarning !== undefined) host.process.emitWarning(message, options);
  else console.warn(`LeaseholdWarning: ${message}`, ...(detail === undefined ? [] : [detail]));
}
