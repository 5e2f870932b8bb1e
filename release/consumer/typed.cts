import leasehold = require('leasehold');
import tasks = require('leasehold/tasks');

export const client: leasehold.Leasehold = leasehold.createLeasehold({ table: 'leasehold' });
export const task = tasks.defineTask({ name: 'noop', run: () => undefined });
