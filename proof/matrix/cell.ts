/** The notations that judge a bug, in the order of the page. */
export const COLUMNS = ['unit', 'conformance', 'text', 'guards', 'placements', 'histories', 'mix'] as const;
export type Column = (typeof COLUMNS)[number];

/** What one notation says of one bug. */
export interface Cell {
  readonly column: Column;
  /** `undecided`: its time was over. */
  readonly kind: 'killed' | 'lives' | 'undecided';
  /** The rule, flow or conjunct that noticed it. */
  readonly by?: string;
  /** Of a core. */
  readonly ms?: number;
}
