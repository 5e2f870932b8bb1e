/** Projections: which parts of an item go out, and in what shape. */
import type { StoredItem, StoredMap, StoredValue } from '../attribute-value.ts';
import { emptyMap, isList, isMap, picked } from '../attribute-value.ts';
import { isNested, nameOf, noMentions, parsePath, resolvedSteps, separatePaths } from './path.ts';
import type { Bindings, Parsed, Path, PathStep } from './syntax.ts';
import { Tokens } from './token.ts';

/** @throws DynamoFault */
export function parseProjection(text: string): Parsed<readonly Path[]> {
  const tokens = new Tokens('ProjectionExpression', text);
  const mentions = noMentions();
  do parsePath(tokens, mentions);
  while (tokens.accept(','));
  tokens.expectEnd();
  const { paths } = mentions;
  return {
    ...mentions,
    root: paths,
    nestedPaths: paths.filter(isNested),
    rules: [separatePaths('ProjectionExpression', paths)],
  };
}

/**
 * Returns the parts of an item that the paths name, each still inside its lists and maps.
 * List elements move together, in the order of the list; missing parts leave no trace.
 */
export function project(item: StoredItem, paths: readonly Path[], names: Bindings['names']): StoredItem {
  if (paths.every((path) => path.steps.length === 1)) return picked(item, rootNames(paths, names));
  const tree: Branches = new Map();
  for (const path of paths) plant(tree, resolvedSteps(path, names));
  return (pruned(item, tree) ?? emptyMap()) as StoredMap;
}

/** The attributes that the paths start from. */
export function rootNames(paths: readonly Path[], names: Bindings['names']): string[] {
  return paths.map((path) => nameOf(path.steps[0], names));
}

/** What to keep of a list or map; nothing below a step means all of it. */
type Branches = Map<PathStep, Branches>;

function plant(tree: Branches, steps: readonly PathStep[]): void {
  let branches = tree;
  for (const step of steps) {
    let next = branches.get(step);
    if (next === undefined) branches.set(step, (next = new Map<PathStep, Branches>()));
    branches = next;
  }
}

function pruned(value: StoredValue, branches: Branches): StoredValue | undefined {
  if (branches.size === 0) return value;
  if (isList(value)) return prunedList(value, branches);
  return isMap(value) ? prunedMap(value, branches) : undefined;
}

function prunedList(list: readonly StoredValue[], branches: Branches): StoredValue | undefined {
  const kept = [...branches]
    .filter((branch): branch is [number, Branches] => typeof branch[0] === 'number')
    .sort(([a], [b]) => a - b)
    .map(([at, below]) => (list[at] === undefined ? undefined : pruned(list[at], below)))
    .filter((element) => element !== undefined);
  return kept.length === 0 ? undefined : kept;
}

function prunedMap(map: StoredMap, branches: Branches): StoredValue | undefined {
  const part = emptyMap();
  for (const [name, below] of branches) {
    const member = typeof name === 'string' ? map[name] : undefined;
    const kept = member === undefined ? undefined : pruned(member, below);
    if (kept !== undefined) part[name] = kept;
  }
  return Object.keys(part).length === 0 ? undefined : part;
}
