/** Records operator actions and their reasons: written before the action, completed with its outcome. */
import { validName } from '../../core/validate/options.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { ItemReader } from '../../dynamo/engine/item-reader.ts';
import type { Sender } from '../../dynamo/engine/send.ts';
import type { Act, AuditedOperation } from './audit-statements.ts';
import { beginAct, endAct, monthOf, pageOfActs } from './audit-statements.ts';

export interface AuditRecord extends Act {
  /** `begun`: it was interrupted, and may have been done. */
  readonly outcome: string;
}

/** How many months `list` reads. */
const MONTHS_LISTED = 14;
const PAGE_LIMIT = 100;

export class AuditStore {
  readonly #sender: Sender;
  readonly #table: string;
  readonly #runtime: Runtime;

  constructor(ports: { readonly sender: Sender; readonly runtime: Runtime }, table: string) {
    this.#sender = ports.sender;
    this.#runtime = ports.runtime;
    this.#table = table;
  }

  /**
   * Records an action, executes it, and records its outcome, errors included.
   * @param outcomeOf returns a word for the outcome
   * @throws ConfigurationError without a name or a reason: the action was not done
   */
  async record<T>(
    operation: AuditedOperation,
    execute: () => Promise<T>,
    outcomeOf: (result: T) => string,
  ): Promise<T> {
    const { clock, ids } = this.#runtime;
    validName('by', operation.by);
    validName('reason', operation.reason);
    const act: Act = { ...operation, id: ids.unique(), at: clock.now() };
    const nonce = ids.unique();
    await this.#sender.write(beginAct(this.#table, act, nonce), nonce);
    try {
      const result = await execute();
      await this.#end(act, outcomeOf(result));
      return result;
    } catch (error) {
      await this.#end(act, `failed: ${error instanceof Error ? error.name : 'error'}`);
      throw error;
    }
  }

  /** Lists records, the latest first. Strongly consistent. */
  async *list(): AsyncGenerator<AuditRecord> {
    const month = new Date(`${monthOf(this.#runtime.clock.now())}-01T00:00:00Z`);
    for (let checked = 0; checked < MONTHS_LISTED; checked++) {
      let after: unknown;
      do {
        const statement = pageOfActs(this.#table, monthOf(month.getTime()), PAGE_LIMIT, after);
        const { Items = [], LastEvaluatedKey } = await this.#sender.read(statement);
        yield* Items.map(decodeAct);
        after = LastEvaluatedKey;
      } while (after !== undefined);
      month.setUTCMonth(month.getUTCMonth() - 1);
    }
  }

  /** Ignores errors: a record that stays `begun` must not make a finished action fail. */
  async #end(act: Act, outcome: string): Promise<void> {
    const nonce = this.#runtime.ids.unique();
    await this.#sender.write(endAct(this.#table, act, outcome, nonce), nonce).catch(() => undefined);
  }
}

/** @throws CorruptItemError */
function decodeAct(item: DynamoItem): AuditRecord {
  const row = new ItemReader(item);
  return {
    id: row.string('id'),
    at: row.count('createdAt'),
    by: row.string('by'),
    reason: row.string('reason'),
    verb: row.string('name'),
    target: row.string('value'),
    outcome: row.string('status'),
  };
}
