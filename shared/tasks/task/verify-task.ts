/** Sequencers of claims, and the check whether a claim or a lock is still current. */
import type { VerifyLockPorts } from '../../coordination/lock/verify-lock.ts';
import { verifyLock } from '../../coordination/lock/verify-lock.ts';
import { ConfigurationError } from '../../core/errors.ts';
import { validName } from '../../core/validate/options.ts';
import type { Sequencer } from '../../core/lease/sequencer.ts';
import { formatSequencer, parseSequencer } from '../../core/lease/sequencer.ts';
import type { Verification, VerifySessionPorts } from '../../session/session-contender.ts';
import { verifySession } from '../../session/session-contender.ts';
import type { SessionStore } from '../../session/session-store.ts';
import type { TaskStore } from './task-store.ts';
import type { Claim, TaskKey } from './task.ts';

interface VerifyTaskPorts extends VerifySessionPorts {
  readonly tasks: TaskStore;
  readonly sessions: SessionStore;
}

/** Strongly consistent. @throws ConfigurationError if it was changed, or belongs to another table or to a semaphore */
export async function verifySequencer(
  text: string,
  table: string,
  ports: VerifyTaskPorts & VerifyLockPorts,
): Promise<Verification> {
  const sequencer = parseSequencer(text, table);
  switch (sequencer.kind) {
    case 'lock':
      return verifyLock(sequencer, ports);
    case 'task':
      return verifyTask(sequencer, ports);
    case 'semaphore':
      throw new ConfigurationError(
        `the sequencer is of semaphore ${sequencer.key}, which has many holders: pass its token to semaphores.verify`,
      );
  }
}

export function taskSequencer({ queue, id, leaseCounter, session }: Claim, table: string): string {
  const key = [queue, id].map(encodeURIComponent).join('/');
  return formatSequencer({ table, kind: 'task', key, leaseCounter, session });
}

/**
 * Makes two strongly consistent requests, the second one for the session. Writes nothing.
 * The task is read first, because a session that is live afterwards was also live then.
 */
async function verifyTask(sequencer: Sequencer, ports: VerifyTaskPorts): Promise<Verification> {
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
