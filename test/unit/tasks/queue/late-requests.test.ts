/**
 * Every verb that names an id, with one answer lost, and with what others do to that id before its second try.
 *
 * What each caller was told is compared with what the store applied: nobody starts work twice, ends work that he did not see, or is told
 * what is not so. A call may end as undecided only if somebody else changed the row in between; the cells in which it does are listed.
 */
import { expect, test } from 'vitest';
import { MismatchError, StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { stampOf } from '../../../../shared/core/lease/stamp.ts';
import type { DynamoCalls, DynamoItem, DynamoKind } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { taskKey } from '../../../../shared/dynamo/engine/keys.ts';
import type { Enqueued } from '../../../../shared/tasks/queue/task-adder.ts';
import type { EnqueueOptions } from '../../../../shared/tasks/queue/task-client.ts';
import { TaskClient } from '../../../../shared/tasks/queue/task-client.ts';
import { MemoryPayloads } from '../../../../shared/testing/memory-payloads.ts';
import { childrenBatch } from '../../../../shared/tasks/task/batch.ts';
import type { DuplicatePolicy } from '../../../../shared/tasks/task/dedup.ts';
import type { ReadyTask, RunningTask } from '../../../../shared/tasks/task/task.ts';
import { claimOf } from '../../../../shared/tasks/task/task.ts';
import { PAYLOAD_ROW_LIMIT_BYTES, dropPayload } from '../../../../shared/tasks/task/payload.ts';
import type { Process } from '../../../support/coordination.ts';
import { passTime } from '../../../support/coordination.ts';
import { Story } from '../../../support/story.ts';

/** Two callers that store inputs above a size in the same place of their own. */
class LateStory extends Story {
  readonly objects = new MemoryPayloads();
  readonly mine = this.#clientOf(this.here);
  readonly theirs = this.#clientOf(this.there);

  readonly #pad: string;

  /** @param pad makes each input so much longer */
  constructor(pad: string) {
    super();
    this.#pad = pad;
  }

  input(value: number): unknown {
    return this.#pad === '' ? value : `${value}${this.#pad}`;
  }

  #clientOf({ ports, runtime }: Process): TaskClient {
    return new TaskClient({ store: ports.tasks, runtime }, { payloads: this.objects });
  }
}

type Step<Result = unknown> = (story: LateStory, session?: string) => Promise<Result>;
/** The answer of a verb: an enqueue, an operator's act, or a number of tasks. */
type Answer = Enqueued | { readonly kind: string } | number;

interface Verb {
  readonly before?: Step;
  readonly act: Step<Answer>;
}

type Lost = 'before' | 'after';

const KEY = { queue: 'default', id: 't' };
const row = ({ there }: Story) => there.ports.tasks.get(KEY);
const all =
  (...steps: readonly Step[]): Step =>
  async (story) => {
    for (const step of steps) await step(story);
  };
const pass: Step = ({ world }) => world.clock.advance(1);
/** Under a session that never was, which counts as ended, or under a live one. */
const claim: Step = async (story, session = 'gone') => {
  const task = await row(story);
  if (task?.state === 'ready') await story.there.ports.tasks.claim(task, session, stampOf(story.there.runtime));
};
const claimAlive: Step = async (story) => claim(story, (await story.there.leasehold.session()).id);
const end =
  (how: 'complete' | 'discard'): Step =>
  async (story) => {
    const task = (await row(story)) as RunningTask | undefined;
    if (task?.state !== 'running') return;
    const { tasks } = story.there.ports;
    const stamp = stampOf(story.there.runtime);
    if (how === 'complete') {
      await tasks.complete(claimOf(task), 'result', stamp);
      await dropPayload(task, { tasks, payloads: story.objects });
    }
    if (how === 'discard') await tasks.discard(claimOf(task), { name: 'Error', message: 'boom', at: stamp.now }, stamp);
  };
/** A parent that waits for a child, which is not due. */
const waits: Step = async (story) => {
  const { leasehold, ports, runtime } = story.there;
  const claimed = claimOf((await row(story)) as RunningTask);
  const batch = childrenBatch(claimed);
  const child = await leasehold.tasks.validate('work', 1, { id: 't/child', delay: '1h' });
  const children = [{ ...child, links: { batch } }];
  await ports.tasks.waitForChildren(claimed, batch, children, { ...stampOf(runtime), sequence: 1 });
};
const runs = all(claim, end('complete'));
const dies = all(claim, end('discard'));
const others =
  (input: number, options: EnqueueOptions = {}): Step =>
  (story) =>
    story.theirs.enqueue('work', story.input(input), { id: KEY.id, ...options });
const cancel: Step = ({ there }) => there.leasehold.operator.cancel(KEY.id, { reason: 'theirs' });
const retry: Step = ({ there }) => there.leasehold.operator.retry(KEY.id);
const expire: Step = async (story) => {
  await pass(story);
  const task = (await row(story)) as ReadyTask | undefined;
  if (task?.state === 'ready' && task.expiresAt !== undefined)
    await story.there.ports.tasks.expire(task, stampOf(story.there.runtime));
};

/** An enqueue with an expiry a millisecond ahead. */
const enqueues =
  (onDuplicate: DuplicatePolicy, options: EnqueueOptions = {}): Step<Answer> =>
  async (story) => {
    const { mine, here } = story;
    const delay = onDuplicate === 'debounce' ? ({ delay: '1ms' } as const) : {};
    const task = await mine.validate('work', story.input(2), { id: KEY.id, onDuplicate, ...delay, ...options });
    const [told] = await mine.enqueueAll([{ ...task, expiresAt: here.runtime.clock.now() + 2 }]);
    if (told === undefined || told instanceof Error) throw told ?? new Error('no answer');
    return told;
  };
const operator = ({ here }: Story) => here.leasehold.operator;

/** Work that existed before, by other callers. */
const earlier = (...steps: readonly Step[]): Step =>
  all(others(1), ...steps, ({ world }) => world.clock.advance(1_000));
const ended = earlier(runs);
const VERBS: Readonly<Record<string, Verb>> = {
  'enqueue, reject': { act: enqueues('reject') },
  'enqueue, keep': { act: enqueues('keep') },
  'enqueue, replace': { act: enqueues('replace') },
  'enqueue, debounce': { act: enqueues('debounce') },
  'enqueue, window': { act: enqueues('reject', { window: 1 }) },
  'renew, replace': { before: ended, act: enqueues('replace') },
  'renew, debounce': { before: ended, act: enqueues('debounce') },
  'renew, window': { before: ended, act: enqueues('reject', { window: 1 }) },
  'renew, keep': { before: ended, act: enqueues('keep', { window: 1 }) },
  'replace, replace': { before: earlier(), act: enqueues('replace') },
  'replace, debounce': { before: earlier(), act: enqueues('debounce') },
  'follow, replace': { before: earlier(claimAlive), act: enqueues('replace') },
  'follow, debounce': { before: earlier(claimAlive), act: enqueues('debounce') },
  'follow, parent': { before: earlier(claim, waits), act: enqueues('replace') },
  'cancel, waiting': { before: earlier(), act: (story) => operator(story).cancel(KEY.id, { reason: 'mine' }) },
  'cancel, running': { before: earlier(claimAlive), act: (story) => operator(story).cancel(KEY.id) },
  retry: { before: earlier(dies), act: (story) => operator(story).retry(KEY.id) },
  'retry all': { before: earlier(dies), act: (story) => operator(story).retryAll() },
  reschedule: { before: earlier(), act: (story) => operator(story).reschedule(KEY.id, { priority: 'high' }) },
};

const nothing: Step = () => Promise.resolve();

const BETWEEN: Readonly<Record<string, Step>> = {
  nothing,
  reject: others(2),
  keep: others(3, { onDuplicate: 'keep' }),
  replace: others(3, { onDuplicate: 'replace' }),
  debounce: others(3, { onDuplicate: 'debounce', delay: '1ms' }),
  window: all(pass, others(3, { window: 1 })),
  ran: runs,
  'ran, replace': all(runs, pass, others(3, { onDuplicate: 'replace' })),
  'ran, replace, ran': all(runs, pass, others(3, { onDuplicate: 'replace' }), runs),
  cancel,
  'cancel, retry': all(cancel, retry),
  'died, retry': all(dies, retry),
  expiry: expire,
};

/** The store's changes for this caller. */
interface Truth {
  writes: number;
  /** Writes that changed the row, before the second try and since. */
  early: number;
  late: number;
  /** Whether others changed the row in between; `isMoved`: so that it has another nonce. */
  isChanged: boolean;
  isMoved: boolean;
}

const WRITES: ReadonlySet<DynamoKind> = new Set(['put', 'update', 'transactWrite']);

/** Loses the answer of the caller's write at this place, or the write itself, and lets others act before the next try. */
function interrupt(story: LateStory, { at, lost }: { readonly at: number; readonly lost: Lost }, between: Step): Truth {
  const { driver } = story.here;
  const attempt = driver.attempt.bind(driver);
  const truth: Truth = { writes: 0, early: 0, late: 0, isChanged: false, isMoved: false };
  driver.attempt = async <K extends DynamoKind>(
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']> => {
    if (!WRITES.has(kind)) return attempt(kind, input, signal);
    const place = truth.writes++;
    const when = place > at ? 'late' : 'early';
    const send = async (): Promise<DynamoCalls[K]['output']> => {
      const before = textOf(story);
      const output = await attempt(kind, input, signal);
      if (textOf(story) !== before) truth[when]++;
      return output;
    };
    if (place !== at) return send();
    if (lost === 'after') await send().catch(() => undefined);
    const before = { text: textOf(story), nonce: storedIn(story)?.nonce };
    await between(story).catch(() => undefined);
    truth.isChanged = textOf(story) !== before.text;
    truth.isMoved = storedIn(story)?.nonce !== before.nonce;
    throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
  };
  return truth;
}

function storedIn({ world }: Story): DynamoItem | undefined {
  return world.rows().find(({ pk }) => pk === taskKey(KEY.queue, KEY.id).pk);
}

function textOf(story: Story): string {
  return JSON.stringify(storedIn(story) ?? null);
}

type Told = 'done' | 'not done' | 'undecided';

/** Whether the answer said that the requested write was applied. */
async function toldOf(story: LateStory, act: Step<Answer>): Promise<Told> {
  try {
    const told = await passTime(story.world, act(story), 1_000);
    if (typeof told === 'number') return told > 0 ? 'done' : 'not done';
    if ('kind' in told) return told.kind === 'ended' || told.kind === 'unfit' ? 'not done' : 'done';
    return told.created || told.replaced ? 'done' : 'not done';
  } catch (error) {
    if (error instanceof MismatchError) return 'not done';
    if (error instanceof StoreUnavailableError && error.applied === 'unknown') return 'undecided';
    throw error;
  }
}

async function play(verb: Verb, place: { readonly at: number; readonly lost: Lost }, between: Step, pad = '') {
  const story = new LateStory(pad);
  await verb.before?.(story);
  const truth = interrupt(story, place, between);
  const told = await toldOf(story, verb.act);
  return { told, truth, story };
}

/** The false statement in the caller's answer, if any. */
function lieOf(told: Told, { early, late, isChanged, isMoved }: Truth, isOperator: boolean): string | undefined {
  const applied = early + late;
  if (applied > 1) return `applied ${applied} times`;
  if (told === 'done' && applied !== 1) return 'told that it was done, but it was not';
  if (told === 'not done' && applied !== 0) return 'told that it was not done, but it was';
  if (told === 'undecided' && !isChanged) return 'undecided, though nobody changed the row';
  if (isOperator && isMoved && late > 0) return 'acted on a row that its caller did not see';
  return undefined;
}

const ANOTHER_WORK = 'ran, replace · ran, replace, ran';
const ANY_WRITE = `replace · debounce · ran · ${ANOTHER_WORK} · cancel · cancel, retry · died, retry`;

/** The cells in which nothing tells any more whether the request was applied. */
const UNDECIDED: readonly string[] = [
  // Its work has run, and another's has begun since.
  ...['reject', 'keep', 'replace', 'window'].map((how) => `enqueue, ${how}, write 1 lost after: ${ANOTHER_WORK}`),
  ...['replace', 'window', 'keep'].map((how) => `renew, ${how}, write 2 lost after: ${ANOTHER_WORK}`),
  // Only the nonce tells whose input a waiting task has.
  `replace, replace, write 2 lost before: ${ANY_WRITE}`,
  `replace, replace, write 2 lost after: ${ANY_WRITE}`,
  `replace, debounce, write 2 lost before: ${ANY_WRITE}`,
  `replace, debounce, write 2 lost after: replace · debounce · ${ANOTHER_WORK} · cancel · cancel, retry`,
  // Another's follower may have replaced it.
  ...['replace', 'debounce'].flatMap((how) => [
    `follow, ${how}, write 2 lost before: replace · debounce · ${ANOTHER_WORK} · died, retry`,
    `follow, ${how}, write 2 lost after: replace · debounce`,
  ]),
  `follow, parent, write 2 lost before: replace · debounce · ${ANOTHER_WORK} · cancel, retry`,
  `follow, parent, write 2 lost after: replace · debounce · ${ANOTHER_WORK}`,
  // Operators act only on what they saw.
  `cancel, waiting, write 1 lost before: ${ANY_WRITE}`,
  `cancel, waiting, write 1 lost after: replace · debounce · window · ${ANOTHER_WORK} · cancel, retry · died, retry`,
  `cancel, running, write 1 lost before: ran · ${ANOTHER_WORK} · died, retry`,
  ...['retry', 'retry all'].flatMap((verb) => [
    `${verb}, write 1 lost before: replace · debounce · window · ${ANOTHER_WORK} · cancel, retry · died, retry`,
    `${verb}, write 1 lost after: ${ANY_WRITE}`,
  ]),
  `reschedule, write 1 lost before: ${ANY_WRITE}`,
  `reschedule, write 1 lost after: ${ANY_WRITE}`,
];

test('each verb with a lost answer, and with each act of others before its second try', async () => {
  const lies: string[] = [];
  const undecided: string[] = [];
  let cells = 0;
  for (const [name, verb] of Object.entries(VERBS)) {
    const alone = await play(verb, { at: -1, lost: 'before' }, nothing);
    expect(alone, name).toMatchObject({ told: 'done', truth: { early: 0, late: 1 } });
    for (let at = 0; at < alone.truth.writes; at++)
      for (const lost of ['before', 'after'] as const) {
        const open: string[] = [];
        for (const [what, between] of Object.entries(BETWEEN)) {
          const { told, truth } = await play(verb, { at, lost }, between);
          const lie = lieOf(told, truth, !/^(enqueue|renew|replace|follow)/.test(name));
          if (lie !== undefined) lies.push(`${name}, write ${at + 1} lost ${lost}, then ${what}: ${lie}`);
          if (told === 'undecided') open.push(what);
          cells++;
        }
        if (open.length > 0) undecided.push(`${name}, write ${at + 1} lost ${lost}: ${open.join(' · ')}`);
      }
  }

  expect(lies).toEqual([]);
  expect(undecided).toEqual(UNDECIDED);
  expect(cells).toBeGreaterThan(120);
});

test('leaves each task that may run its input, in the store of its callers', async () => {
  const large = 'x'.repeat(PAYLOAD_ROW_LIMIT_BYTES);
  const gone: string[] = [];
  for (const name of ['enqueue, replace', 'renew, replace', 'replace, replace', 'follow, replace', 'follow, parent']) {
    const verb = VERBS[name] ?? { act: enqueues('replace') };
    for (const at of [0, 1])
      for (const [what, between] of Object.entries(BETWEEN)) {
        const { story } = await play(verb, { at, lost: 'after' }, between, large);
        const task = await row(story);
        const named = [task?.state === 'done' ? undefined : task?.payload, task?.follower?.payload];
        const missing = named.some((payload) => payload && !story.objects.references.includes(payload.reference ?? ''));
        if (missing) gone.push(`${name}, write ${at + 1}, then ${what}`);
      }
  }

  expect(gone).toEqual([]);
});
