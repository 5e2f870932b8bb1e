/** Whether the promise was kept, from the tables themselves. */
import type { BatchGetCommandOutput } from '@aws-sdk/lib-dynamodb';
import { BatchGetCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { INVENTORY_TABLE } from './inventory/tasks.ts';
import type { Census } from './census.ts';
import type { Killing } from './killer.ts';
import type { FleetView, TakeOver } from './worker-view.ts';

/** The last line of `npm start -- --json`. */
export interface Verdict {
  readonly tasks: number;
  readonly done: number;
  readonly dead: number;
  /** Tasks that are neither done, dead nor cancelled at the end. */
  readonly lost: number;
  readonly takeovers: number;
  /** The killed worker's tasks that others took over. */
  readonly takenOver: readonly string[];
  /** Results that were written more than once, or not at all though their task is done; null where the tasks write no ledger. */
  readonly doubleCommits: number | null;
  readonly missingCommits: number | null;
  readonly claimsRefused: number;
  readonly duplicateTicks: number;
  readonly writeUnitsPerTask: number;
  readonly readUnitsPerTask: number;
  readonly seconds: number;
  /** From the kill until the last task of the killed worker was taken over; null where no worker was killed. */
  readonly takeoverSeconds: number | null;
  readonly rejected: number;
  readonly perWorker: Readonly<Record<string, number>>;
}

export interface VerdictInput {
  readonly census: Census;
  readonly fleet: FleetView;
  readonly killing: Killing | undefined;
  readonly enqueueUnits: { readonly writeUnits: number; readonly readUnits: number };
  readonly elapsedMs: number;
  readonly rejected: number;
  /** Commits per task id, where the tasks keep a ledger. */
  readonly commits: ReadonlyMap<string, number> | undefined;
}

export function judge(input: VerdictInput): Verdict {
  const { census, fleet, killing, enqueueUnits, elapsedMs, rejected, commits } = input;
  const counts = census.counts();
  const tasks = census.total;
  const doneIds = census.records().flatMap(({ id, state }) => (state === 'done' ? [id] : []));
  const ofKilled = takeOversOf(fleet, killing);
  const perTask = (units: number): number => (tasks === 0 ? 0 : Math.round((units / tasks) * 100) / 100);
  return {
    tasks,
    done: counts.done,
    dead: counts.dead,
    lost: counts.ready + counts.running + counts.missing,
    takeovers: fleet.takeOvers.length,
    takenOver: [...new Set(ofKilled.map(({ task }) => task))],
    doubleCommits: commits === undefined ? null : [...commits.values()].filter((count) => count > 1).length,
    missingCommits: commits === undefined ? null : doneIds.filter((id) => !commits.has(id)).length,
    claimsRefused: fleet.claimsRefused,
    duplicateTicks: fleet.duplicateTicks,
    writeUnitsPerTask: perTask(fleet.writeUnits + enqueueUnits.writeUnits),
    readUnitsPerTask: perTask(fleet.readUnits + enqueueUnits.readUnits),
    seconds: Math.round(elapsedMs / 100) / 10,
    takeoverSeconds: lastSeconds(ofKilled, killing),
    rejected,
    perWorker: Object.fromEntries(
      [...fleet.workers.values()].map(({ environmentId, settled }) => [environmentId, settled]),
    ),
  };
}

/** If this is false, the run has failed. */
export function isKept(verdict: Verdict): boolean {
  return verdict.lost === 0 && (verdict.doubleCommits ?? 0) === 0 && (verdict.missingCommits ?? 0) === 0;
}

function takeOversOf(fleet: FleetView, killing: Killing | undefined): readonly TakeOver[] {
  if (killing === undefined) return [];
  const held = new Set(killing.tasks);
  return fleet.takeOvers.filter(({ task, at }) => held.has(task) && at >= killing.at);
}

function lastSeconds(takeOvers: readonly TakeOver[], killing: Killing | undefined): number | null {
  if (killing === undefined || takeOvers.length === 0) return null;
  return Math.round(Math.max(...takeOvers.map(({ at }) => at - killing.at)) / 100) / 10;
}

/** How often each package's result was written. */
export async function readInventoryCommits(
  client: DynamoDBClient,
  places: readonly string[],
): Promise<Map<string, number>> {
  const documents = DynamoDBDocumentClient.from(client);
  const commits = new Map<string, number>();
  for (let from = 0; from < places.length; from += 100) {
    let Keys: Record<string, unknown>[] | undefined = places.slice(from, from + 100).map((place) => ({ place }));
    while (Keys !== undefined) {
      const request = { RequestItems: { [INVENTORY_TABLE]: { Keys, ConsistentRead: true } } };
      const answer: BatchGetCommandOutput = await documents.send(new BatchGetCommand(request));
      for (const row of answer.Responses?.[INVENTORY_TABLE] ?? []) commits.set(String(row.place), Number(row.commits));
      Keys = answer.UnprocessedKeys?.[INVENTORY_TABLE]?.Keys;
    }
  }
  return commits;
}
