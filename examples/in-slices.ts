/** Few enough that each is answered in its time, on a busy machine too. */
const AT_ONCE = 20;

/** Asks for each of many things, some of them at a time. */
export async function inSlices<Thing, Answer>(
  things: readonly Thing[],
  ask: (thing: Thing) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let from = 0; from < things.length; from += AT_ONCE)
    answers.push(...(await Promise.all(things.slice(from, from + AT_ONCE).map(ask))));
  return answers;
}
