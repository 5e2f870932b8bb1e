/** Sequencers of claims, and the check whether such a claim is still current. */
import { isPack, openItems, parseItemId } from './pack.ts';
import { validName } from '../../core/validate/name.ts';
import type { Sequencer } from '../../core/lease/sequencer.ts';
import { formatSequencer } from '../../core/lease/sequencer.ts';
import type { Verification, VerifySessionPorts } from '../../session/verify-session.ts';
import { verifySession } from '../../session/verify-session.ts';
import type { TaskStore } from './task-store.ts';
import type { Claim, TaskKey, TaskRecord } from './task.ts';

interface VerifyTaskPorts extends VerifySessionPorts {
  readonly tasks: TaskStore;
}

export function taskSequencer({ queue, id, leaseCounter, session }: Claim, table: string): string {
  const key = [queue, id].map(encodeURIComponent).join('/');
  return formatSequencer({ table, kind: 'task', key, leaseCounter, session });
}

/**
 * Makes two strongly consistent requests, the second one for the session,
 * and one more each for an item of a pack and for health checks. Writes nothing.
 * The task is read first, because a session that is live afterwards was also live then.
 */
export async function verifyTask(sequencer: Sequencer, ports: VerifyTaskPorts): Promise<Verification> {
  const { leaseCounter, session: id } = sequencer;
  const task = await claimedRow(keyOf(sequencer), ports.tasks);
  if (task === undefined) return { kind: 'released' };
  if (task.leaseCounter !== leaseCounter) return { kind: 'superseded', leaseCounter: task.leaseCounter };
  if (task.state !== 'running') return { kind: 'released' };
  if (task.session !== id) return { kind: 'superseded', leaseCounter: task.leaseCounter };
  return verifySession(await ports.sessions.get(id), ports);
}

/** Returns the row that names the holder of a task; undefined if it has ended, when TTL may also have deleted its row. */
async function claimedRow(key: TaskKey, tasks: TaskStore): Promise<TaskRecord | undefined> {
  const task = await tasks.get(key);
  const place = parseItemId(key);
  if (task !== undefined || place === undefined) return task;
  // As long as an item stays in its pack, it runs under the pack's claim.
  const pack = await tasks.get(place.pack);
  return pack !== undefined && isPack(pack) && openItems(pack).includes(place.index) ? pack : undefined;
}

function keyOf({ key }: Sequencer): TaskKey {
  const [queue, id] = key.split('/').map(decodeURIComponent);
  return { queue: validName('queue', queue), id: validName('task id', id) };
}
