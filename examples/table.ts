/** The table of all examples; some of them keep their own rows in it. */
export const TABLE = 'leasehold-examples';
