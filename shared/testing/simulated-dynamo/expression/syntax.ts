/** Syntax trees of expressions, independent of spelling. */
import type { StoredMap } from '../attribute-value.ts';

/** An attribute name as written, or a `#placeholder` for one, or an index into a list. */
export type PathStep = string | number;

export interface Path {
  readonly kind: 'path';
  readonly steps: readonly [string, ...PathStep[]];
}

export interface ValueReference {
  readonly kind: 'value';
  readonly placeholder: string;
}

// ─── conditions ────────────────────────────────────────────────────────────────────────────────────────────

export interface SizeOf {
  readonly kind: 'size';
  readonly of: Operand;
}

export type Operand = Path | ValueReference | SizeOf;

export type Comparator = '=' | '<>' | '<' | '<=' | '>' | '>=';

/** Functions that are a condition by themselves. */
export type Predicate = 'attribute_exists' | 'attribute_not_exists' | 'attribute_type' | 'begins_with' | 'contains';

export type Condition =
  | { readonly kind: 'and' | 'or'; readonly left: Condition; readonly right: Condition }
  | { readonly kind: 'not'; readonly condition: Condition }
  | { readonly kind: 'compare'; readonly comparator: Comparator; readonly left: Operand; readonly right: Operand }
  | { readonly kind: 'between'; readonly operand: Operand; readonly low: Operand; readonly high: Operand }
  | { readonly kind: 'in'; readonly operand: Operand; readonly list: readonly Operand[] }
  | { readonly kind: 'predicate'; readonly predicate: Predicate; readonly operands: readonly [Operand, ...Operand[]] };

// ─── updates ───────────────────────────────────────────────────────────────────────────────────────────────

export type UpdateOperand =
  | Path
  | ValueReference
  | { readonly kind: 'ifNotExists'; readonly path: Path; readonly otherwise: UpdateOperand }
  | { readonly kind: 'listAppend'; readonly first: UpdateOperand; readonly second: UpdateOperand };

interface Sum {
  readonly kind: 'sum';
  readonly sign: '+' | '-';
  readonly left: UpdateOperand;
  readonly right: UpdateOperand;
}

export type UpdateValue = UpdateOperand | Sum;

export type UpdateAction =
  | { readonly kind: 'set'; readonly path: Path; readonly value: UpdateValue }
  | { readonly kind: 'remove'; readonly path: Path }
  | { readonly kind: 'add' | 'delete'; readonly path: Path; readonly value: ValueReference };

// ─── what a request needs to know about any of them ────────────────────────────────────────────────────────

export interface Parsed<Root> {
  readonly root: Root;
  readonly names: ReadonlySet<string>;
  readonly values: ReadonlySet<string>;
  /** The paths in it that lead into a list or map. */
  readonly nestedPaths: readonly Path[];
  /** Rules that depend on what the placeholders stand for, so they are checked with every request. */
  readonly rules: readonly Rule[];
}

/** @throws DynamoFault */
export type Rule = (bindings: Bindings) => void;

/** The values of a request's placeholders. */
export interface Bindings {
  readonly names: Readonly<Record<string, string>>;
  readonly values: StoredMap;
}
