/** Loads the code with the edits of one mutant in it. To be called before anything else imports what they change. */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import { mutated } from './mutated.ts';
import type { Mutant } from './mutation.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

export function mutate({ id, edits }: Mutant): void {
  const editsByFile = Map.groupBy(edits, ({ file }) => path.join(ROOT, file));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const edited = url.startsWith('file:') ? editsByFile.get(fileURLToPath(url)) : undefined;
      if (edited === undefined || !loaded.source) return loaded;
      const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
      return { ...loaded, source: mutated(id, text, edited) };
    },
  });
}
