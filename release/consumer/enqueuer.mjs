/** A function of AWS Lambda that only enqueues: its bundle is measured. */
import { createLeasehold } from 'leasehold';

const leasehold = createLeasehold();

export const handler = (event) => leasehold.tasks.enqueue('resize', event);
