/** Each expression text is parsed once: a program has a few dozen of them and sends each a million times. */
import { parseCondition } from './condition-parser.ts';
import { parseProjection } from './projection.ts';
import type { Condition, Parsed, Path, UpdateAction } from './syntax.ts';
import { parseUpdate } from './update-parser.ts';

/** Beyond this the texts are made up on the way, and remembering them would only fill the memory. */
const MOST_REMEMBERED = 10_000;

function remembering<Root>(parse: (text: string) => Parsed<Root>): (text: string) => Parsed<Root> {
  const parsedByText = new Map<string, Parsed<Root>>();
  return (text) => {
    const known = parsedByText.get(text);
    if (known !== undefined) return known;
    const parsed = parse(text);
    if (parsedByText.size >= MOST_REMEMBERED) parsedByText.clear();
    parsedByText.set(text, parsed);
    return parsed;
  };
}

const conditions = remembering((text) => parseCondition('ConditionExpression', text));
const filters = remembering((text) => parseCondition('FilterExpression', text));
const keyConditions = remembering((text) => parseCondition('KeyConditionExpression', text));
const updates = remembering(parseUpdate);
const projections = remembering(parseProjection);

type Optional<Root> = Parsed<Root> | undefined;

export const parsed = {
  condition: (text: string | undefined): Optional<Condition> => (text === undefined ? undefined : conditions(text)),
  filter: (text: string | undefined): Optional<Condition> => (text === undefined ? undefined : filters(text)),
  keyCondition: (text: string): Parsed<Condition> => keyConditions(text),
  update: (text: string | undefined): Optional<readonly UpdateAction[]> =>
    text === undefined ? undefined : updates(text),
  projection: (text: string | undefined): Optional<readonly Path[]> =>
    text === undefined ? undefined : projections(text),
};
