/** Sequencers of claims, and the check whether such a claim is still current. */
import { validName } from '../../core/validate/options.ts';
import type { Sequencer } from '../../core/lease/sequencer.ts';
import { formatSequencer } from '../../core/lease/sequencer.ts';
import type { Verification, VerifySessionPorts } from '../../session/session-contender.ts';
import { verifySession } from '../../session/session-contender.ts';
import type { SessionStore } from '../../session/session-store.ts';
import type { TaskStore } from './task-store.ts';
import type { Claim, TaskKey } from './task.ts';

interface VerifyTaskPorts extends VerifySessionPorts {
  readonly tasks: TaskStore;
  readonly sessions: SessionStore;
}

export function taskSequencer({ queue, id, leaseCounter, session }: Claim, table: string): string {
  const key = [queue, id].map(encodeURIComponent).join('/');
  return formatSequencer({ table, kind: 'task', key, leaseCounter, session });
}

/**
 * Makes two strongly consistent requests, the second one for the session. Writes nothing.
 * The task is read first, because a session that is live afterwards was also live then.
 */
export async function verifyTask(sequencer: Sequencer, ports: VerifyTaskPorts): Promise<Verification> {
  const { leaseCounter, session: id } = sequencer;
  const task = await ports.tasks.get(keyOf(sequencer));
  if (task === undefined) return { kind: 'released' };
  if (task.leaseCounter !== leaseCounter) return { kind: 'superseded', leaseCounter: task.leaseCounter };
  if (task.state !== 'running') return { kind: 'released' };
  if (task.session !== id) return { kind: 'superseded', leaseCounter: task.leaseCounter };
  return verifySession(await ports.sessions.get(id), ports);
}

function keyOf({ key }: Sequencer): TaskKey {
  const [queue, id] = key.split('/').map(decodeURIComponent);
  return { queue: validName('queue', queue), id: validName('task id', id) };
}
