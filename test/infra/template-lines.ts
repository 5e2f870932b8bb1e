/** Templates as lines of text, for golden files and for what differs between two. */

/** Longer values are printed in parts. */
const LINE_CHARACTERS = 240;

/**
 * One line for each property of each resource, or for each part of a long one, with its path. A list of texts is one line.
 * Hashes of the CDK's assets and of versions are left out, and the numbers of the parts of a text.
 */
export function linesOf(value: unknown, path: readonly string[] = []): string[] {
  const text = JSON.stringify(value);
  const isShort = path.length > PROPERTY_DEPTH && text.length <= LINE_CHARACTERS;
  if (typeof value === 'object' && value !== null && !isShort && !isTexts(value))
    return Object.entries(value).flatMap(([name, member]) => linesOf(member, [...path, name]));
  const place = path.join('.').replace(/(?<=Fn::Join\.1)\.\d+$/, '');
  return [`${place} = ${text}`.replaceAll(/\b[0-9a-f]{32,64}\b/g, 'HASH')];
}

/** The path to the properties of a resource. */
const PROPERTY_DEPTH = 3;

function isTexts(value: object): boolean {
  return Array.isArray(value) && value.every((member) => typeof member === 'string');
}

/** Lines that are only in one of them. A resource that is gone has one line, its type. */
export function difference(before: readonly string[], after: readonly string[]): string[] {
  const [old, changed] = [new Set(before), new Set(after)];
  const left = new Set(after.map(resourceOf));
  const isTold = (line: string): boolean => left.has(resourceOf(line)) || line.startsWith(`${resourceOf(line)}.Type `);
  return [
    ...before.filter((line) => !changed.has(line) && isTold(line)).map((line) => `- ${line}`),
    ...after.filter((line) => !old.has(line)).map((line) => `+ ${line}`),
  ];
}

function resourceOf(line: string): string {
  return line.split('.', 2).join('.');
}
