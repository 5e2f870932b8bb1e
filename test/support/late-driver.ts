/** A driver that delivers one write late: its sender gets no response to any attempt, and gives up; then the write arrives. */
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';

interface Write {
  readonly Key?: { readonly pk: string };
  readonly Item?: { readonly pk: string; readonly nonce?: string };
  readonly ClientRequestToken?: string;
  readonly ExpressionAttributeValues?: Readonly<Record<string, unknown>>;
  readonly TransactItems?: readonly { readonly Update?: Write; readonly Put?: Write }[];
}

export class LateDriver implements DynamoDriver {
  readonly #driver: DynamoDriver;
  readonly #seen = new Set<unknown>();
  readonly #late: { readonly write: number; readonly by: number };
  #chosen: unknown;
  #held: (() => Promise<unknown>) | undefined;
  #since = 0;
  isWatching = false;

  /** @param late the write of a task's row that is late, 1 for the first, and by how many others it is overtaken */
  constructor(driver: DynamoDriver, late: { readonly write: number; readonly by: number }) {
    this.#driver = driver;
    this.#late = late;
  }

  /** Writes so far, each counted once regardless of its attempts. */
  get writes(): number {
    return this.#seen.size;
  }

  async attempt<K extends DynamoKind>(
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']> {
    const write = this.isWatching ? writeOf(kind, input as Write) : undefined;
    if (write === undefined) return this.#driver.attempt(kind, input, signal);
    if (!this.#seen.has(write)) {
      this.#seen.add(write);
      if (this.#seen.size === this.#late.write) {
        this.#chosen = write;
        this.#held = () => this.#driver.attempt(kind, input, new AbortController().signal);
      } else if (this.#held !== undefined && ++this.#since === this.#late.by) await this.deliver();
    }
    if (write === this.#chosen) throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
    return this.#driver.attempt(kind, input, signal);
  }

  /** All requests in flight arrive now. Their responses are lost. */
  async deliver(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    await held?.().catch(() => undefined);
  }
}

/** Returns the common identity of all attempts of one write; undefined for reads, and for writes of rows other than tasks. */
function writeOf(kind: DynamoKind, input: Write): unknown {
  if (kind === 'get' || kind === 'batchGet' || kind === 'query') return undefined;
  const [first] = input.TransactItems ?? [];
  const { Key, Item, ExpressionAttributeValues } = first?.Update ?? first?.Put ?? input;
  const isTask = (Key ?? Item)?.pk.startsWith('task#') === true;
  return isTask ? (input.ClientRequestToken ?? ExpressionAttributeValues?.[':nonce'] ?? Item?.nonce) : undefined;
}
