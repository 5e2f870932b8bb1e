/** The changes that a seeded bug makes at its place. */
import type { Place } from './place.ts';
import { clause } from './place.ts';

/** The source that was found, and its parts, as text. */
export interface Found {
  readonly text: string;
  /** The operands of an operation. */
  readonly left: string;
  readonly right: string;
  /** The parts of `condition ? whenTrue : whenFalse`. */
  readonly condition: string;
  readonly whenTrue: string;
  readonly whenFalse: string;
  /** The arguments of a call. */
  readonly args: readonly string[];
}

/**
 * Drops a statement, an entry of an object, an element of a list, a part of a template, or a clause; a function returns its replacement.
 */
export type Change = 'drop' | ((found: Found) => string);

/** One change, at a place that is named by the structure of the source: reformatting, moving and renaming locals leave it valid. */
export interface Edit {
  /** Path in the repository. */
  readonly file: string;
  /** Declarations from the outside in, joined by dots: functions, classes, methods, constants, properties of object literals. */
  readonly in: string;
  /** The place within, each step within the one before; absent: the value of the declaration. */
  readonly at?: Place | readonly Place[];
  readonly change: Change;
}

export const becomes =
  (code: string): Change =>
  () =>
    code;

/** `a || b` and the like, without the second of them. */
export const leftOnly: Change = ({ left }) => left;

/** The property of the same object that has another name: of `a.b`, `a.c`. */
export function beside(access: string, name: string): string {
  return access.replace(/\w+$/, name);
}

/** The guard asks nothing any more of what these clauses compare; their names and values are still used, as DynamoDB demands. */
export function disarmed(file: string, within: string, ...clauses: readonly string[]): Edit[] {
  return clauses.map((text) => ({
    file,
    in: within,
    at: clause(text),
    change: becomes(`(${text} OR ${opposite(text)})`),
  }));
}

/** The guard of a task's holder without its comparison of counter and session. */
export const ANYBODYS =
  "'#state = :running AND (#leaseCounter <> :counter OR #leaseCounter = :counter) AND (#session <> :session OR #session = :session)'";

const OPPOSITES: Readonly<Record<string, string>> = {
  '=': '<>',
  '<>': '=',
  '<': '>=',
  '>=': '<',
  '<=': '>',
  '>': '<=',
};

function opposite(condition: string): string {
  if (condition.startsWith('NOT ')) return condition.slice('NOT '.length);
  const [left = '', operator = '', right = ''] = condition.split(/ (=|<>|<=|>=|<|>) /);
  const opposed = OPPOSITES[operator];
  return opposed === undefined ? `NOT ${condition}` : `${left} ${opposed} ${right}`;
}
