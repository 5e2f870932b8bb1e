/**
 * Sets constants of the product, history by history.
 *
 * While the product is loaded, the hook makes each constant that has a range a variable, and appends a line that hands it over.
 * The shipped files have no trace of it. Objects are changed in place, so whoever holds one sees the change.
 */
import { registerHooks } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Knob, Range } from './knobs.ts';
import { KNOBS } from './knobs.ts';
import type { Prng } from '../../../test/support/machines/prng.ts';

/** By `file: NAME`: the value, or the factor of an object. Constants that it does not name have their shipped values. */
export type Turned = Readonly<Record<string, number>>;

type Value = number | { [name: string]: Value };

interface Variable {
  readonly shipped: Value;
  readonly get: () => Value;
  readonly set: (value: Value) => void;
}

const ROOT = path.resolve(import.meta.dirname, '../../..');
const HOOK = 'leaseholdKnob';
const variables = new Map<string, Variable>();

/** To be called before anything imports the product. */
export function makeTurnable(): void {
  Object.assign(globalThis, {
    [HOOK]: (knob: string, get: Variable['get'], set: Variable['set']) =>
      variables.set(knob, { shipped: structuredClone(get()), get, set }),
  });
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const file = url.startsWith('file:') ? path.relative(ROOT, fileURLToPath(url)) : '';
      if (KNOBS[file] === undefined || !loaded.source) return loaded;
      const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
      return { ...loaded, source: turnable(file, text) };
    },
  });
}

/** @throws if a constant is not declared exactly once */
export function turnable(file: string, source: string): string {
  return Object.keys(KNOBS[file] ?? {}).reduce((text, name) => {
    const declaration = new RegExp(`^((?:export )?)const (?=(?:\\[[\\w, ]*\\b)?${name}\\b)`, 'gm');
    const isVariable = new RegExp(`^(?:export )?let (?:\\[[\\w, ]*\\b)?${name}\\b`, 'm').test(text);
    const found = text.match(declaration)?.length ?? 0;
    if (found !== (isVariable ? 0 : 1)) throw new Error(`${file} declares ${name} ${found} times, once is needed`);
    const line = `globalThis.${HOOK}(${JSON.stringify(`${file}: ${name}`)}, () => ${name}, (value: any) => { ${name} = value; });`;
    return `${text.replace(declaration, '$1let ')}\n${line}`;
  }, source);
}

/** @throws if the product was not loaded so that its constants can be set */
export function turn(turned: Turned): void {
  for (const [name, { shipped, get, set }] of variables) {
    const value = scaled(shipped, turned[name] ?? shipped);
    if (typeof value === 'number') set(value);
    else Object.assign(get(), value);
  }
  for (const name of Object.keys(turned))
    if (!variables.has(name))
      throw new Error(`${name} cannot be set: call makeTurnable() before the product is loaded`);
}

/** Whole numbers stay whole, and at least one. */
function scaled(shipped: Value, by: Value | number): Value {
  if (typeof shipped === 'number') return Number(by);
  if (typeof by !== 'number') return structuredClone(shipped);
  return Object.fromEntries(
    Object.entries(shipped).map(([name, value]) => {
      if (typeof value !== 'number') return [name, scaled(value, by)];
      return [name, Number.isInteger(value) ? Math.max(1, Math.round(by * value)) : by * value];
    }),
  );
}

/** Each constant with the chance, most of them near the lower end. */
export function drawKnobs(prng: Prng, chance: number): Turned {
  const all = Object.entries(KNOBS).flatMap(([file, knobs]) =>
    Object.entries(knobs).map(([name, knob]) => [`${file}: ${name}`, knob] as const),
  );
  return Object.fromEntries(
    all.flatMap(([name, knob]) => {
      const drawn = drawOne(prng.fork(name), knob, chance);
      return drawn === undefined ? [] : [[name, drawn]];
    }),
  );
}

function drawOne(prng: Prng, knob: Knob, chance: number): number | undefined {
  if (!prng.chance(chance)) return undefined;
  const [least, most]: Range = 'by' in knob ? knob.by : knob;
  const value = prng.chance(0.5) ? least : prng.logarithmic(least, most);
  return 'by' in knob || most < 1 ? value : Math.round(value);
}
