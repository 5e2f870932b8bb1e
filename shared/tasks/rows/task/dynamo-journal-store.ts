/** The journal of a durable task on DynamoDB. Only bundles with durable tasks have it, so it is made of the parts of a task store. */
import { storedJson } from '../../../dynamo/engine/stored-json.ts';
import { actionOf } from '../../../dynamo/engine/transaction.ts';
import type { JournalStore } from '../../durable/journal-store.ts';
import { spawnedIn } from './change-parts.ts';
import type { TaskStoreParts } from './dynamo-task-store.ts';
import { endDurable, putJournalPart, suspendTask, writeJournal } from './journal-statements.ts';
import { decodeTask } from './task-codec.ts';

export function createJournalStore(tasks: { readonly parts: unknown }): JournalStore {
  const { sender, endings, options } = tasks.parts as TaskStoreParts;
  const { table, shards, onCreated } = options;
  return {
    async checkpoint(claim, write, stamp, limits) {
      const { newParts, parts, life, keptUntil, effects } = write;
      const own = writeJournal(table, claim, write, stamp);
      if (newParts.length === 0 && effects.length === 0) {
        const written = await sender.write(own, stamp.nonce, limits);
        if (written.kind === 'applied') return { kind: 'applied' };
        return { kind: 'refused', current: written.item && decodeTask(written.item) };
      }
      const rows = newParts.map((text, at) =>
        actionOf(putJournalPart(table, claim, { life, part: parts + at }, text, keptUntil)),
      );
      const outcome = await endings.linked.checkpoint(
        { task: claim, to: 'running', own, effects },
        rows,
        stamp,
        limits,
      );
      if (outcome.kind === 'applied') onCreated?.(spawnedIn(effects), stamp.now);
      return outcome;
    },

    suspend: (claim, write, stamp, limits) =>
      endings.end('snooze', claim, suspendTask(table, claim, write, shards, stamp), stamp, { limits }),

    end(claim, elements, { result, error }, stamp, limits) {
      const stored = result === undefined ? undefined : storedJson(result);
      const ending = endings.stampOf(claim, error === undefined ? 'done' : 'dead', stamp);
      const own = endDurable(table, claim, elements, { result: stored, error }, ending);
      const verb = error === undefined ? 'complete' : 'discard';
      return endings.end(verb, claim, own, stamp, { limits, result, error });
    },
  };
}
