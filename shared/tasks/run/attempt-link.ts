/** The link from an attempt's context to the client of `leaseholdOf(task)`, so that workers do not bundle the whole client. */
import type { TaskContext } from '../task/context.ts';

const LINK = Symbol('leasehold.attempt');

export class AttemptLink {
  /** The parts of the client: see `client/leasehold-of.ts`. */
  readonly client: object | undefined;
  readonly #ends = new Set<() => Promise<void>>();
  #isOver = false;

  constructor(client: object | undefined) {
    this.client = client;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Calls `end` when the attempt ends, however it does. */
  async onEnd(end: () => Promise<void>): Promise<void> {
    if (this.#isOver) await end();
    else this.#ends.add(end);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#ends].map((end) => end()));
  }
}

/** The context stays a plain record: whoever spreads it keeps the link. */
export function linked<Context extends object>(context: Context, link: AttemptLink): Context {
  return Object.assign(context, { [LINK]: link });
}

export function linkOf(context: Pick<TaskContext, 'id'>): AttemptLink | undefined {
  return (context as { readonly [LINK]?: AttemptLink })[LINK];
}
