/** Every placement of one fault in every call of clients and operators. */
import { CALLS } from './calls.ts';
import { placesOne } from './places-one.ts';

placesOne(CALLS);
