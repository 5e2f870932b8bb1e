/**
 * Combines reads of single rows into one request if they are made at about the same time.
 *
 * A process that serves many callers, such as a gateway, spends its time on requests rather than on rows.
 * Reads of one turn of the event loop share a request. It is sent at once while few requests are in flight, otherwise when one of them
 * ends, or after a few milliseconds, so that a hanging request does not delay other reads.
 * Each row is read as in a separate request: strongly consistent, after its caller's call, at the same price in units.
 * Reads with a separate limit, and all other requests, are not combined.
 */
import type { WriteLimits } from '../core/lease/write.ts';
import type { Clock } from '../core/runtime/clock.ts';
import { readInBatches } from './engine/batches.ts';
import type { DynamoCalls, DynamoItem } from './engine/driver.ts';
import { joinKey } from './engine/keys.ts';
import type { SenderPorts } from './engine/send.ts';
import { Sender } from './engine/send.ts';
import type { Statement } from './engine/statement.ts';
import { batchGetStatement } from './engine/statement.ts';
import type { Verb } from './engine/verb.ts';

/** Two, so that one is in flight while the response of the other is read. */
const UNDER_WAY_LIMIT = 2;
/** About the duration of a read within a region, so that waiting for one in flight takes no longer than that. */
const PATIENCE_MS = 5;

interface Asked {
  readonly statement: Statement<'get'>;
  readonly answer: PromiseWithResolvers<DynamoCalls['get']['output']>;
}

export class GatheringSender extends Sender {
  readonly #clock: Clock;
  #gathered: Asked[] = [];
  #underWay = 0;

  constructor(ports: SenderPorts) {
    super(ports);
    this.#clock = ports.runtime.clock;
  }

  override read<K extends 'get' | 'batchGet' | 'query'>(
    statement: Statement<K>,
    limits?: WriteLimits,
  ): Promise<DynamoCalls[K]['output']> {
    if (!isPlainGet(statement) || limits !== undefined) return super.read(statement, limits);
    const answer = Promise.withResolvers<DynamoCalls['get']['output']>();
    this.#gathered.push({ statement, answer });
    if (this.#gathered.length === 1) void this.#sendInTurn(this.#gathered);
    return answer.promise;
  }

  /** Resolves when these reads are sent, after a delay or when an earlier request ends. */
  async #sendInTurn(these: readonly Asked[]): Promise<void> {
    if (this.#underWay >= UNDER_WAY_LIMIT) await this.#clock.sleep(PATIENCE_MS);
    else await Promise.resolve();
    if (this.#gathered === these) await this.#send();
  }

  async #send(): Promise<void> {
    const gathered = this.#gathered;
    if (gathered.length === 0) return;
    this.#gathered = [];
    this.#underWay++;
    try {
      await Promise.all([...Map.groupBy(gathered, tableOf)].map(([table, asked]) => this.#answer(table, asked)));
    } finally {
      this.#underWay--;
    }
    await this.#send();
  }

  async #answer(table: string, gathered: readonly Asked[]): Promise<void> {
    const [first] = gathered;
    try {
      if (first !== undefined && gathered.length === 1) {
        first.answer.resolve(await super.read(first.statement));
        return;
      }
      const keys = gathered.map(rowKeyOf);
      const verbs = [...new Set(gathered.map(({ statement }) => statement.verb))].sort().join(', ') as Verb;
      const items = await readInBatches(this, table, batchGetStatement(verbs, table, keys, { consistent: true }));
      const found = new Map(items.map((item) => [nameOf(item), item]));
      for (const asked of gathered) asked.answer.resolve({ Item: found.get(nameOf(rowKeyOf(asked))) });
    } catch (error) {
      for (const { answer } of gathered) answer.reject(error);
    }
  }
}

function isPlainGet(statement: Statement): statement is Statement<'get'> {
  if (statement.kind !== 'get') return false;
  const { ConsistentRead, ProjectionExpression } = (statement as Statement<'get'>).input;
  return ConsistentRead === true && ProjectionExpression === undefined;
}

function tableOf({ statement }: Asked): string {
  return String(statement.input.TableName);
}

function rowKeyOf({ statement }: Asked): { readonly pk: string; readonly sk: string } {
  const { pk, sk } = statement.input.Key ?? {};
  return { pk: String(pk), sk: String(sk) };
}

function nameOf({ pk, sk }: DynamoItem): string {
  return joinKey([String(pk), String(sk)]);
}
