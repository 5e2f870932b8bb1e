/** All suites on the embedded engine. */
import { inject } from 'vitest';
import { suitesOn } from '../support/suites-on.ts';

await suitesOn('embedded', inject('embeddedEndpoint'), ['*.test.ts', 'task/*.test.ts']);
