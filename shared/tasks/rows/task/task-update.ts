/** An update of a task's row. Its expressions may name what is known of the row and of the write, so that a statement gives only the rest. */
import type { Stamp } from '../../../core/lease/stamp.ts';
import { taskKey } from '../../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, ttlEpochSeconds } from '../../../dynamo/engine/schema.ts';
import type { Statement, UpdateParts, Values } from '../../../dynamo/engine/statement.ts';
import { updateStatement } from '../../../dynamo/engine/statement.ts';
import type { Verb } from '../../../dynamo/engine/verb.ts';
import type { TaskKey } from '../../task/task.ts';

/** A task as its writer saw it, or as its holder has it. */
interface KnownTask extends TaskKey {
  readonly state?: string;
  readonly leaseCounter?: number;
  readonly session?: string | undefined;
  readonly nonce?: string;
}

type WriteStamp = Stamp & { readonly sequence?: number | undefined };

export function updateTask(
  verb: Verb,
  table: string,
  task: KnownTask,
  stamp: WriteStamp,
  parts: Omit<UpdateParts, 'table' | 'key' | 'stamp'>,
): Statement<'update'> {
  const values = { ...knownOf(task), ...ofWrite(stamp), ...parts.values };
  return updateStatement(verb, { ...parts, table, key: taskKey(task.queue, task.id), stamp, values });
}

function knownOf({ state, leaseCounter, session, nonce }: KnownTask): Values {
  return {
    ':counter': leaseCounter,
    ':session': session,
    ':observedState': state,
    ':observedCounter': leaseCounter,
    ':observedSession': session,
    ':observedNonce': nonce,
  };
}

function ofWrite({ now, sequence }: WriteStamp): Values {
  return {
    ':ready': 'ready',
    ':running': 'running',
    ':sequence': sequence,
    ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.task),
  };
}
