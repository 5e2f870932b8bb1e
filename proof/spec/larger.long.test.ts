/** The larger models of the specification, each searched to its end; needs Java, and is skipped without. */
import { describe, expect, test } from 'vitest';
import { checkModel } from './check.ts';
import { LARGER } from './larger.ts';
import { findTlc } from './tlc.ts';

const tlc = findTlc(undefined);
const LONGEST_MINUTES = 60;

describe.skipIf(typeof tlc === 'string' && process.env.CI !== 'true')('a larger model of the specification', () => {
  test.each(LARGER)(
    'is searched to its end, with every action taken: $name',
    { timeout: LONGEST_MINUTES * 60_000 },
    async (model) => {
      if (typeof tlc === 'string') throw new Error(tlc);

      const { end, violated, dead, states, depth, minutes } = await checkModel(tlc, model);

      console.log(`${model.name}: ${states.toLocaleString('en')} states, depth ${depth}, ${minutes} minutes`);
      expect({ end, violated, dead }).toEqual({ end: 'exhausted', violated: undefined, dead: [] });
    },
  );
});
