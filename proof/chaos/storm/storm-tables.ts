/** The tables of the storm: the queue's table, and the user's own, which contains all effects. */
export const TABLE = 'leasehold';
export const BOOK = 'book';
export const QUEUE = 'storm';
