/**
 * I19 one id, one piece of work: what a task is to do changes only where a caller asked for that,
 * while it waits (`replace`) or after it has ended (`renew`),
 *   never back to what was asked for before; and a caller that was told that its request was taken finds it, or what was asked for later.
 */
import { isDeepStrictEqual } from 'node:util';
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Acknowledged, Applied } from '../history.ts';
import type { Family } from './rule.ts';
import { isTask } from './rule.ts';

/** What makes a task the work that it is. */
const WORK = ['name', 'input', 'payload', 'tenant', 'total'] as const;

export const duplicates: Family = (_assumptions, report) => {
  const verbs = new Map<number, string>();
  const rows = new Map<string, DynamoItem>();
  /** By row: the version that was asked for last, of what is in it. */
  const versions = new Map<string, number>();

  function onTask({ row, before, after, operation, process }: Applied): void {
    if (after === undefined) return;
    rows.set(row, after);
    if (before === undefined) versions.delete(row);
    const verb = operation === undefined ? undefined : verbs.get(operation);
    const isAnew = verb === 'task.replace' || verb === 'task.renew';
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
    const version = versionOf(after.input);
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
  if (typeof input !== 'string' || input === 'null') return undefined;
  const { version } = JSON.parse(input) as { readonly version?: number };
  return version;
}
