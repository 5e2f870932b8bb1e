/** Loads the code with the edits of one mutant in it. To be called before anything else imports what they change. */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import type { Edit, Mutant } from './mutation.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

export function mutate({ id, edits }: Mutant): void {
  const editsByFile = Map.groupBy(edits, ({ file }) => path.join(ROOT, file));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const edited = url.startsWith('file:') ? editsByFile.get(fileURLToPath(url)) : undefined;
      if (edited === undefined || !loaded.source) return loaded;
      const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
      return { ...loaded, source: edited.reduce((source, edit) => applied(id, source, edit), text) };
    },
  });
}

/** @throws when the text is not there exactly once */
export function applied(id: string, source: string, { file, find, replace }: Edit): string {
  // However a formatter has broken the lines.
  const pattern = new RegExp(find.trim().split(/\s+/).map(literal).join('\\s+'), 'g');
  const found = source.match(pattern)?.length ?? 0;
  if (found !== 1)
    throw new Error(
      `mutant ${id}: ${JSON.stringify(find)} stands ${found} times in ${file}, once is needed: bring the mutant up to date`,
    );
  return source.replace(pattern, () => replace);
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
