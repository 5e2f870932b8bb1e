/** The table of all examples; some of them keep rows of their own in it. */
export const TABLE = 'leasehold-examples';
