/**
 * Changes to a document, gathered into a tree by their paths and applied in one pass from the root,
 * so that list positions always refer to the list before any change.
 */
import type { StoredList, StoredMap, StoredValue } from '../attribute-value.ts';
import { changeable, changeableWithout, isList, isMap } from '../attribute-value.ts';
import { validationFault } from '../fault.ts';
import type { PathStep } from './syntax.ts';

export const REMOVE: unique symbol = Symbol('remove');
/** Changes nothing, but the path must be valid for a change. */
export const KEEP: unique symbol = Symbol('keep');

/** A new value, or what to do with the old one. */
export type Edit = StoredValue | typeof REMOVE | typeof KEEP;

/** The changes to the members of a list or map. */
export type Edits = Map<PathStep, Change>;

type Change = { readonly edit: Edit } | { readonly below: Edits };

/** The paths of one update never overlap, so no edit meets another on its way. */
export function plantEdit(edits: Edits, steps: readonly PathStep[], edit: Edit): void {
  let level = edits;
  for (const [depth, step] of steps.entries()) {
    if (depth === steps.length - 1) {
      level.set(step, { edit });
      return;
    }
    const existing = level.get(step);
    const below: Edits = existing !== undefined && 'below' in existing ? existing.below : new Map<PathStep, Change>();
    level.set(step, { below });
    level = below;
  }
}

/** Makes the changes to the attributes of one map. */
export function withEdits(map: StoredMap, edits: readonly (readonly [string, Edit])[]): StoredMap {
  const removed = new Set<string>();
  for (const [name, edit] of edits) if (edit === REMOVE) removed.add(name);
  const copy = removed.size === 0 ? changeable(map) : changeableWithout(map, removed);
  for (const [name, edit] of edits) if (edit !== KEEP && edit !== REMOVE) copy[name] = edit;
  return copy;
}

/** @throws DynamoFault if a path leads through a missing value, or a value that is not a list or map */
export function applyEdits(value: StoredValue | undefined, edits: Edits): StoredValue {
  if (value !== undefined && isMap(value)) return editedMap(value, edits);
  if (value !== undefined && isList(value)) return editedList(value, edits);
  throw invalidPath();
}

function editedMap(map: StoredMap, edits: Edits): StoredMap {
  return withEdits(
    map,
    [...edits].map(([name, change]) => {
      if (typeof name === 'number') throw invalidPath();
      return [name, 'below' in change ? applyEdits(map[name], change.below) : change.edit] as const;
    }),
  );
}

/** Elements set beyond the end are appended in the order of their positions; gaps close. */
function editedList(list: StoredList, edits: Edits): StoredList {
  const copy: (StoredValue | typeof REMOVE)[] = [...list];
  const changes = [...edits].sort(([a], [b]) => Number(a) - Number(b));
  for (const [at, change] of changes) {
    if (typeof at === 'string') throw invalidPath();
    const edit = 'below' in change ? applyEdits(list[at], change.below) : change.edit;
    if (edit === KEEP || (edit === REMOVE && at >= list.length)) continue;
    if (at < list.length) copy[at] = edit;
    else copy.push(edit);
  }
  return copy.filter((element) => element !== REMOVE);
}

function invalidPath(): Error {
  return validationFault('The document path provided in the update expression is invalid for update');
}
