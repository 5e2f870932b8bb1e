/** The workers' side: makes quotes. */
import { defineTask } from 'leasehold/tasks';
import * as z from 'zod';

const PRICES: Readonly<Record<string, number>> = { tea: 4, coffee: 6 };

export const quote = defineTask({
  name: 'quote',
  input: z.object({ item: z.string(), count: z.number().int().positive() }),
  run: ({ item, count }) => ({ item, total: (PRICES[item] ?? 1) * count }),
});
