/** Document paths: `a.b[2].#c`. */
import type { StoredItem, StoredValue } from '../attribute-value.ts';
import { isList, isMap } from '../attribute-value.ts';
import { RESERVED_WORDS } from './reserved-words.ts';
import type { Bindings, Path, PathStep, Rule } from './syntax.ts';
import type { ExpressionKind, Tokens } from './token.ts';
import { expressionFault, KEYWORDS } from './token.ts';

const DEEPEST_PATH = 32;
const LARGEST_INDEX = 2 ** 31 - 1;

/** The paths and placeholders of an expression, which its parser collects. */
interface Mentions {
  readonly names: Set<string>;
  readonly values: Set<string>;
  readonly paths: Path[];
}

export function noMentions(): Mentions {
  return { names: new Set(), values: new Set(), paths: [] };
}

export function isNested(path: Path): boolean {
  return path.steps.length > 1;
}

export function parsePath(tokens: Tokens, mentions: Mentions): Path {
  const { names } = mentions;
  const steps: [string, ...PathStep[]] = [parseName(tokens, names)];
  for (;;) {
    if (tokens.accept('.')) steps.push(parseName(tokens, names));
    else if (tokens.accept('[')) steps.push(parseIndex(tokens));
    else break;
  }
  if (steps.length > DEEPEST_PATH) {
    throw tokens.fault(`The document path has too many nesting levels; nesting levels: ${steps.length}`);
  }
  const path: Path = { kind: 'path', steps };
  mentions.paths.push(path);
  return path;
}

/** The attribute name that a step stands for. */
export function nameOf(step: string, names: Bindings['names']): string {
  return step.charCodeAt(0) === HASH ? (names[step] ?? step) : step;
}

export function valueAt(item: StoredItem | undefined, path: Path, names: Bindings['names']): StoredValue | undefined {
  const { steps } = path;
  let value: StoredValue | undefined = item?.[nameOf(steps[0], names)];
  for (let at = 1; at < steps.length && value !== undefined; at++) value = memberAt(value, steps[at] ?? 0, names);
  return value;
}

/** With the placeholders replaced. */
export function resolvedSteps(path: Path, names: Bindings['names']): readonly PathStep[] {
  return path.steps.map((step) => (typeof step === 'string' ? nameOf(step, names) : step));
}

export function isSamePath(left: Path, right: Path, names: Bindings['names']): boolean {
  const a = resolvedSteps(left, names);
  const b = resolvedSteps(right, names);
  return a.length === b.length && a.every((step, at) => step === b[at]);
}

/**
 * Paths of one expression must not overlap (`a` and `a.b`), and must agree on whether a value is a list (`a.b` and `a[0]`).
 * Usually there are no placeholders and the first names differ, so there is nothing to check.
 */
export function separatePaths(kind: ExpressionKind, paths: readonly Path[]): Rule {
  return ({ names }) => {
    const roots = new Set(paths.map((path) => nameOf(path.steps[0], names)));
    if (roots.size === paths.length) return;
    for (const [at, path] of paths.entries()) {
      for (const other of paths.slice(0, at)) requireSeparate(kind, other, path, names);
    }
  };
}

const HASH = '#'.charCodeAt(0);

function parseName(tokens: Tokens, names: Set<string>): string {
  const { kind, text } = tokens.current;
  if (kind === 'name') names.add(text);
  else if (kind !== 'word' || KEYWORDS.has(text.toUpperCase())) throw tokens.syntaxFault();
  else if (RESERVED_WORDS.has(text.toUpperCase())) {
    throw tokens.fault(`Attribute name is a reserved keyword; reserved keyword: ${text}`);
  }
  return tokens.take().text;
}

function parseIndex(tokens: Tokens): number {
  if (tokens.current.kind !== 'number') throw tokens.syntaxFault();
  const index = Number(tokens.take().text);
  if (index > LARGEST_INDEX) {
    throw tokens.fault(`List index is not within the allowable range; index: [${index}]`);
  }
  tokens.expect(']');
  return index;
}

function memberAt(value: StoredValue, step: PathStep, names: Bindings['names']): StoredValue | undefined {
  if (typeof step === 'number') return isList(value) ? value[step] : undefined;
  return isMap(value) ? value[nameOf(step, names)] : undefined;
}

function requireSeparate(kind: ExpressionKind, first: Path, second: Path, names: Bindings['names']): void {
  const a = resolvedSteps(first, names);
  const b = resolvedSteps(second, names);
  const shared = Math.min(a.length, b.length);
  const parting = a.slice(0, shared).findIndex((step, at) => step !== b[at]);
  const isOverlap = parting === -1;
  const isConflict = !isOverlap && typeof a[parting] !== typeof b[parting];
  if (!isOverlap && !isConflict) return;
  throw expressionFault(
    kind,
    `Two document paths ${isOverlap ? 'overlap' : 'conflict'} with each other; ` +
      `must remove or rewrite one of these paths; path one: ${shown(a)}, path two: ${shown(b)}`,
  );
}

function shown(steps: readonly PathStep[]): string {
  return `[${steps.map((step) => (typeof step === 'number' ? `[${step}]` : step)).join(', ')}]`;
}
