/**
 * I19 one id, one piece of work: a task's work changes only if a caller requested that,
 * while it waits (`replace`), after it has ended (`renew`), or with the end of the attempt that ran at the request (`follow`):
 *   at most one piece of work follows an attempt, a parent that waits or a suspended execution, the newest, and by the same write that ends the attempt;
 *   never back to earlier requested work; and a caller whose request was accepted finds it, or later requested work.
 */
import { isDeepStrictEqual } from 'node:util';
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Acknowledged, Applied } from '../history.ts';
import type { Family } from './rule.ts';
import { isTask, textOf } from './rule.ts';

/** The attributes that make up a task's work. */
const WORK = ['name', 'input', 'payload', 'tenant', 'total'] as const;

export const duplicates: Family = (_assumptions, report) => {
  const verbs = new Map<number, string>();
  const rows = new Map<string, DynamoItem>();
  /** By row: the version of its latest request. */
  const versions = new Map<string, number>();

  function onTask({ row, before, after, operation, process }: Applied): void {
    if (after === undefined) return;
    rows.set(row, after);
    if (before === undefined) versions.delete(row);
    const verb = operation === undefined ? undefined : verbs.get(operation);
    const follower = before?.follower as DynamoItem | undefined;
    const isOver = after.follower === undefined || (after.state !== 'running' && after.state !== 'ready');
    const isFollowed = follower !== undefined && (isOver || (before?.state === 'running' && after.state !== 'running'));
    if (isFollowed) onFollowed(row, follower, after);
    else if (!isDeepStrictEqual(follower, after.follower)) onFollower(row, verb, after);
    const isAnew = isFollowed || verb === 'task.replace' || verb === 'task.renew';
    if (verb === 'task.replace' && (before?.state !== 'ready' || after.state !== 'ready'))
      report('I19', row, `was ${String(before?.state)}, and was given other work`);
    if (before !== undefined && !isAnew)
      for (const name of WORK)
        if (!isDeepStrictEqual(before[name], after[name]))
          report('I19', row, `its ${name} was changed by ${verb ?? process}`);
    if (isAnew && (after.progress !== undefined || after.children !== undefined))
      report('I19', row, 'was given other work, and what the work before it has left');
    if (isAnew && before?.leaseCounter !== after.leaseCounter)
      report('I19', row, `was given other work, and counter ${String(after.leaseCounter)}`);
    if (before === undefined || isAnew) onVersion(row, versionOf(after.input), process);
  }

  /** The attempt has ended, and its follower is ready. */
  function onFollowed(row: string, follower: DynamoItem, after: DynamoItem): void {
    if (after.state !== 'ready' || after.follower !== undefined)
      report('I19', row, `became ${String(after.state)}, and what was to follow its attempt does not`);
    for (const name of ['name', 'input', 'payload'] as const)
      if (!isDeepStrictEqual(follower[name], after[name]))
        report('I19', row, `goes on with another ${name} than that of what was to follow`);
  }

  function onFollower(row: string, verb: string | undefined, after: DynamoItem): void {
    const mayBeFollowed =
      after.state === 'running' ||
      (after.state === 'ready' && (after.children !== undefined || after.journal !== undefined));
    if (verb !== 'task.follow' || !mayBeFollowed || after.follower === undefined)
      report('I19', row, `is ${String(after.state)}, and what is to follow it was changed by ${String(verb)}`);
    onVersion(row, versionOf((after.follower as DynamoItem | undefined)?.input), 'a request');
  }

  function onVersion(row: string, version: number | undefined, process: string): void {
    if (version === undefined) return;
    const known = versions.get(row) ?? 0;
    if (version < known) report('I19', row, `was given version ${version} of its work by ${process}, after ${known}`);
    versions.set(row, Math.max(version, known));
  }

  function onEnqueued({ row, value }: Acknowledged): void {
    const version = versionOf(value);
    const found = versions.get(row) ?? 0;
    if (version !== undefined && rows.has(row) && found < version)
      report('I19', row, `version ${version} of its work was acknowledged, and ${found} is the last that it was given`);
  }

  return {
    on(event) {
      if (event.kind === 'called') verbs.set(event.operation, event.verb);
      else if (event.kind === 'swept') rows.delete(event.row);
      else if (event.kind === 'applied' && isTask(event.row)) onTask(event);
      else if (event.kind === 'acknowledged' && event.what === 'enqueued') onEnqueued(event);
    },
  };
};

/** As the workload numbers what it asks for; a large input is elsewhere, and says nothing here. */
function versionOf(input: unknown): number | undefined {
  const text = textOf(input);
  if (text === undefined || text === 'null') return undefined;
  const { version } = JSON.parse(text) as { readonly version?: number };
  return version;
}
