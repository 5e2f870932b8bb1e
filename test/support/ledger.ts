/**
 * The contents of an object graph: the size of each collection, private fields included, and the listeners of each signal, by their path.
 * For tests that use something many times and expect that nothing of it stays: timers of the clock, listeners, entries of maps.
 */
import { getEventListeners } from 'node:events';
import inspector from 'node:inspector';

type Sizes = Readonly<Record<string, number>>;

interface Remote {
  readonly type: string;
  readonly subtype?: string;
  readonly className?: string;
  readonly description?: string;
  readonly objectId?: string;
}

/** Dependent signals are held weakly. Drivers belong to the test: they hold its table, and count. */
const LEFT_OUT = /Dependant|SourceSignals|kWeak|#driver/;
const MAX_DEPTH = 14;

declare global {
  var ledgerRoot: unknown;
  var ledgerSeen: WeakSet<object> | undefined;
  var ledgerListeners: (signal: AbortSignal) => number;
}

globalThis.ledgerListeners = (signal) => getEventListeners(signal, 'abort').length;

export function ledgerOf(root: unknown): Sizes {
  const session = new inspector.Session();
  session.connect();
  globalThis.ledgerRoot = root;
  globalThis.ledgerSeen = new WeakSet();
  const sizes: Record<string, number> = {};
  try {
    const { result } = ask('Runtime.evaluate', { expression: 'globalThis.ledgerRoot' }) as { result: Remote };
    walk(result, '', 0);
  } finally {
    session.disconnect();
    globalThis.ledgerRoot = undefined;
    globalThis.ledgerSeen = undefined;
  }
  return sizes;

  function ask(method: string, params: object): object {
    let told: object | undefined;
    session.post(method, params, (error: Error | null, result?: object) => {
      if (error !== null) throw error;
      told = result;
    });
    if (told === undefined) throw new Error(`${method} was not answered at once`);
    return told;
  }

  function walk({ type, subtype, className, description, objectId }: Remote, path: string, depth: number): void {
    if (type !== 'object' || objectId === undefined || depth > MAX_DEPTH || subtype?.startsWith('weak') === true)
      return;
    const isSeen = 'function () { return ledgerSeen.has(this) || (ledgerSeen.add(this), false); }';
    const call = { objectId, functionDeclaration: isSeen, returnByValue: true };
    const { result } = ask('Runtime.callFunctionOn', call) as { result: { value?: unknown } };
    if (result.value === true) return;
    if (className === 'AbortSignal') {
      const listening = { ...call, functionDeclaration: 'function () { return ledgerListeners(this); }' };
      const { result: count } = ask('Runtime.callFunctionOn', listening) as { result: { value?: unknown } };
      sizes[`${path} listeners`] = Number(count.value);
    }
    const size = /^(?:Map|Set|Array|SafeMap|SafeSet)\((\d+)\)$/.exec(description ?? '')?.[1];
    if (size !== undefined) sizes[path] = (sizes[path] ?? 0) + Number(size);
    const found = ask('Runtime.getProperties', { objectId, ownProperties: true }) as Properties;
    for (const { name, value } of [...(found.result ?? []), ...(found.privateProperties ?? [])])
      if (value !== undefined && name !== '__proto__' && !LEFT_OUT.test(name))
        walk(value, /^\d+$/.test(name) ? `${path}[]` : `${path}.${name}`, depth + 1);
    for (const { name, value } of found.internalProperties ?? [])
      if (name === '[[Entries]]' && value !== undefined) walk({ ...value, description: '' }, path, depth + 1);
  }
}

type Properties = Readonly<Record<'result' | 'privateProperties' | 'internalProperties', readonly Named[] | undefined>>;

interface Named {
  readonly name: string;
  readonly value?: Remote;
}

/** Returns the collections that have grown, with both sizes. */
export function grown(before: Sizes, after: Sizes): Readonly<Record<string, readonly [number, number]>> {
  return Object.fromEntries(
    Object.entries(after)
      .map(([path, size]) => [path, [before[path] ?? 0, size]] as const)
      .filter(([, [was, is]]) => was < is),
  );
}
