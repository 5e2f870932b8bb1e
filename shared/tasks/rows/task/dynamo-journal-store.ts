/** The journal of a durable task on DynamoDB. Only bundles with durable tasks have it, so it is made of the parts of a task store. */
import { allOf } from '../../../core/runtime/all-of.ts';
import { inFlight } from '../../../core/runtime/in-flight.ts';
import type { RowKey } from '../../../dynamo/engine/keys.ts';
import { arrivalKey, journalKey } from '../../../dynamo/engine/keys.ts';
import { storedJson } from '../../../dynamo/engine/stored-json.ts';
import type { JournalStore } from '../../durable/journal-store.ts';
import { createArrivalStore, ignoreOutage } from './arrival-store.ts';
import { spawnedIn } from './change-parts.ts';
import type { TaskStoreParts } from './dynamo-task-store.ts';
import { endDurable, expireRow, putJournalPart, suspendTask, writeJournal } from './journal-statements.ts';
import { decodeTask } from './task-codec.ts';

export function createJournalStore(tasks: { readonly parts: unknown }): JournalStore {
  const { sender, endings, options } = tasks.parts as TaskStoreParts;
  const { table, shards, onCreated } = options;
  return {
    ...createArrivalStore(sender, options),
    async checkpoint(claim, write, stamp, limits) {
      const { newParts, keptUntil, effects } = write;
      for (const part of newParts)
        await sender.write(putJournalPart(table, claim, part, keptUntil), stamp.nonce, limits);
      const own = writeJournal(table, claim, write, stamp);
      if (effects.length === 0) {
        const written = await sender.write(own, stamp.nonce, limits);
        if (written.kind === 'applied') return { kind: 'applied' };
        return { kind: 'refused', current: written.item && decodeTask(written.item) };
      }
      const outcome = await endings.linked.checkpoint({ task: claim, to: 'running', own, effects }, stamp, limits);
      if (outcome.kind === 'applied') onCreated?.(spawnedIn(effects), stamp.now);
      return outcome;
    },

    suspend: (claim, write, stamp, limits) =>
      endings.end('snooze', claim, suspendTask(table, claim, write, shards, stamp), stamp, { limits }),

    async end(claim, elements, { result, error, apart }, stamp, limits) {
      const stored = result === undefined ? undefined : storedJson(result);
      const ending = endings.stampOf(claim, error === undefined ? 'done' : 'dead', stamp);
      const own = endDurable(table, claim, elements, { result: stored, error }, ending);
      const verb = error === undefined ? 'complete' : 'discard';
      const ended = await endings.end(verb, claim, own, stamp, { limits, result, error });
      if (ended.kind === 'applied' && apart !== undefined) {
        const { queue, id } = claim;
        const keys = [
          ...apart.parts.map((part) => journalKey(queue, id, part)),
          ...apart.arrivals.map((openKey) => arrivalKey(queue, id, openKey)),
        ];
        const send = inFlight(EXPIRE_IN_FLIGHT);
        const expire = (key: RowKey) => send(() => sender.write(expireRow(table, key, stamp.now), stamp.nonce, limits));
        await allOf(keys.slice(0, EXPIRE_AT_MOST).map(expire)).catch(ignoreOutage);
      }
      return ended;
    },
  };
}

/** The end of the task waits for them. */
const EXPIRE_AT_MOST = 250;
const EXPIRE_IN_FLIGHT = 10;
