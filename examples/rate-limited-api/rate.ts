/** The vendor's total limit. */
export const RATE = { rate: 20, per: '1s', burst: 5 } as const;
