/** Templates as lines of text, for golden files and for what differs between two. */

/** One line for each value, with its path. Hashes of the CDK's assets and of versions are left out. */
export function linesOf(value: unknown, path = ''): string[] {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, member]) => linesOf(member, path === '' ? name : `${path}.${name}`));
  return [`${path} = ${JSON.stringify(value)}`.replaceAll(/\b[0-9a-f]{32,64}\b/g, 'HASH')];
}

/** Lines that are only in one of them. */
export function difference(before: readonly string[], after: readonly string[]): string[] {
  const [old, changed] = [new Set(before), new Set(after)];
  return [
    ...before.filter((line) => !changed.has(line)).map((line) => `- ${line}`),
    ...after.filter((line) => !old.has(line)).map((line) => `+ ${line}`),
  ];
}
