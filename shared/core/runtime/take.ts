/** Returns the first rows of a list, and whether there are more. It reads at most one row beyond the returned ones. */
export async function take<T>(
  rows: AsyncIterable<T>,
  limit: number,
): Promise<{ readonly rows: readonly T[]; readonly more: boolean }> {
  const taken: T[] = [];
  for await (const row of rows) {
    if (taken.length === limit) return { rows: taken, more: true };
    taken.push(row);
  }
  return { rows: taken, more: false };
}

/** Reads page after page, until one has no cursor to the next. */
export async function* pagesOf<Page extends { readonly next: unknown }>(
  read: (after: unknown) => Promise<Page>,
): AsyncGenerator<Page> {
  let after: unknown;
  do {
    const page = await read(after);
    yield page;
    after = page.next;
  } while (after !== undefined);
}
