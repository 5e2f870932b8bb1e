/** The spans of a durable task: one for each step that ran, within its attempt. Replayed steps have no span. */
import { expect, test } from 'vitest';
import { recordSpans } from '../../../support/spans.ts';
import { kitWith } from './kit-with.ts';

test('a step that runs has a span, and a replayed one has none', async () => {
  using spans = recordSpans();
  const { kit } = await kitWith(async (_, ctx) => {
    await ctx.step('charge', async () => 1);
    await ctx.wait({ hours: 1 });
    await ctx.step('mail', async () => 2);
  });
  spans.take();
  const namesOf = async (): Promise<readonly string[]> => {
    await kit.drain();
    return spans.take().map(({ name }) => name);
  };
  const first = await namesOf();
  await kit.advance('1h');
  const second = await namesOf();

  expect(first).toEqual(['wait default', 'charge', 'suspend default', 'process default']);
  expect(second).toEqual(['wait default', 'mail', 'complete default', 'process default']);
});
