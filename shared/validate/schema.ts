import type { StandardSchemaV1 } from '@standard-schema/spec';

/** What a schema has to say about an input, each with its place: `user.name: expected string`. */
export function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues.map(({ message, path }) => `${pathOf(path)}${message}`).join('; ');
}

function pathOf(path: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined): string {
  if (path === undefined || path.length === 0) return '';
  return `${path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')}: `;
}
