/**
 * I13 wait groups: a member counts once; it is added only to an open group, and ends once, as done or lost;
 * it is lost only once its session is dead; a group is complete when it is sealed and no member is pending, with the right counts;
 * a waiter learns of a complete wait only afterwards. A completed generation does not change.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Acknowledged, Applied, Called } from '../history.ts';
import type { Family } from './rule.ts';
import { isSession } from './rule.ts';

interface Counts {
  readonly members: number;
  readonly lost: number;
}

const NEXT: Readonly<Record<string, string>> = { open: 'sealed', sealed: 'complete', complete: 'open' };

export const waitgroups: Family = (_assumptions, report) => {
  const calls = new Map<number, Called>();
  const live = new Set<string>();
  const groups = new Map<string, DynamoItem>();
  /** By group row and generation: its members' states. */
  const members = new Map<string, Map<string, string>>();
  const completed = new Map<string, Counts>();

  function onGroup({ row, before, after, process }: Applied): void {
    if (after === undefined) {
      report('I13', row, `deleted by a request of ${process}`);
      return;
    }
    groups.set(row, after);
    if (before === undefined) return;
    const [was, is] = [String(before.state), String(after.state)];
    const begins = is === 'open';
    if (NEXT[was] !== is) report('I13', row, `went from ${was} to ${is}`);
    if (Number(after.generation) !== Number(before.generation) + (begins ? 1 : 0))
      report(
        'I13',
        row,
        `went from generation ${String(before.generation)} to ${String(after.generation)}, ${was} to ${is}`,
      );
    if (is === 'complete') onComplete(row, after);
  }

  function onComplete(row: string, after: DynamoItem): void {
    const generation = `${row}#${String(after.generation)}`;
    const counts = countsOf(members.get(generation));
    if (counts.pending > 0) report('I13', row, `is complete, and ${counts.pending} of its members are pending`);
    if (after.members !== counts.members || after.lost !== counts.lost)
      report(
        'I13',
        row,
        `counts ${String(after.members)} members and ${String(after.lost)} lost; there are ${counts.members} and ${counts.lost}`,
      );
    completed.set(generation, counts);
  }

  function onMember({ row, before, after, operation, process }: Applied): void {
    const [generation = '', id = ''] = row.split('/member#');
    if (after === undefined) {
      report('I13', row, `deleted by a request of ${process}`);
      return;
    }
    const known = members.get(generation) ?? new Map<string, string>();
    members.set(generation, known.set(id, String(after.state)));
    const verb = (operation === undefined ? undefined : calls.get(operation)?.verb) ?? 'a write';
    if (before === undefined) {
      const [, name = '', number = ''] = generation.split('#');
      const group = groups.get(`waitgroup#${name}`);
      const isOpen = group?.state === 'open' && String(group.generation) === number;
      if (!isOpen || after.state !== 'pending')
        report(
          'I13',
          row,
          `was added as ${String(after.state)}; its group is ${String(group?.state)} in generation ${String(group?.generation)}`,
        );
      return;
    }
    if (before.state !== 'pending') report('I13', row, `was ${String(before.state)}, and ${verb} changed it`);
    if (after.state === 'lost' && live.has(String(before.session)))
      report('I13', row, `was lost while session ${String(before.session)} lives`);
  }

  function onWaited({ row, value = '{}', process }: Acknowledged): void {
    const told = JSON.parse(value) as Counts & { readonly generation: number };
    const counts = completed.get(`${row}#${told.generation}`);
    if (counts === undefined)
      report('I13', row, `${process} was told that generation ${told.generation} is over, and it is not`);
    else if (counts.members !== told.members || counts.lost !== told.lost)
      report(
        'I13',
        row,
        `${process} was told of ${told.members} members and ${told.lost} lost; there were ${counts.members} and ${counts.lost}`,
      );
  }

  return {
    on(event) {
      if (event.kind === 'called') calls.set(event.operation, event);
      else if (event.kind === 'acknowledged' && event.what === 'waited') onWaited(event);
      else if (event.kind === 'swept' && isSession(event.row)) live.delete(String(event.before.id));
      else if (event.kind === 'swept' && event.row.startsWith('waitgroup#')) groups.delete(event.row);
      else if (event.kind !== 'applied') return;
      else if (isSession(event.row)) {
        if (event.after?.status === 'live') live.add(String(event.after.id));
        else live.delete(String(event.before?.id));
      } else if (event.row.startsWith('waitgroup#')) (event.row.includes('/') ? onMember : onGroup)(event);
    },
  };
};

function countsOf(states: ReadonlyMap<string, string> | undefined): Counts & { readonly pending: number } {
  const all = [...(states?.values() ?? [])];
  const count = (state: string): number => all.filter((found) => found === state).length;
  return { members: all.length, lost: count('lost'), pending: count('pending') };
}
