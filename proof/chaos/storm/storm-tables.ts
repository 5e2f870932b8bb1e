/** The tables of the storm: that of the queue, and the user's own, in which all effects are. */
export const TABLE = 'leasehold';
export const BOOK = 'book';
export const QUEUE = 'storm';
