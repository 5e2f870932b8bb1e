import type { StandardIssue } from './standard-schema.ts';

/** A schema's issues with an input, each with its path: `user.name: expected string`. */
export function describeIssues(issues: readonly StandardIssue[]): string {
  return issues.map(({ message, path }) => `${pathOf(path)}${message}`).join('; ');
}

function pathOf(path: StandardIssue['path']): string {
  if (path === undefined || path.length === 0) return '';
  return `${path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')}: `;
}
