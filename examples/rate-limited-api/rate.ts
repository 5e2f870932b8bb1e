/** What the vendor allows, in all. */
export const RATE = { rate: 20, per: '1s', burst: 5 } as const;
