/**
 * An error that nobody expects, at a request of each kind in every flow: a mistake in the code, or a right that is missing.
 * Its caller hears of it, or the place is listed here with its reason; and the next users find everything in order.
 */
import { expect, test } from 'vitest';
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../../shared/dynamo/engine/driver.ts';
import { withSimulatedAborts } from '../../../test/support/machines/abort-signal.ts';
import type { WorkerPlace } from '../workloads/worker-place.ts';
import { FLOWS } from './flows.ts';
import { Stage } from './stage.ts';

const ALL = 'any flow';
/** By reason, the requests whose error stays away from the caller, and the flows in which it does. */
const UNHEARD: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'the next heartbeat tries again, and a session without heartbeats is lost': {
    'update session SET #expiresAt = :expiresAt': [ALL],
    'batchGet check': [ALL],
  },
  'a session that is not ended expires': {
    'update session SET #status = :invalid': [ALL],
  },
  'the worker logs it, and the end of the task does not depend on it': {
    'put failure': [ALL],
    'delete payload': [ALL],
  },
  'the task hears it: its attempt fails, and is tried again': {
    'get payload': [ALL],
    'get batch': ['batch'],
    'get line': ['commit with a child in a line'],
    'transactWrite task SET #state = :finished': [
      'commit',
      'commit with a child',
      'commit without stock',
      'commit with a child in a line',
    ],
    'transactWrite task SET #state = :ready': ['children'],
    'update task SET #progress = :progress': [ALL],
    'update task SET #sequence = :sequence': [ALL],
    'update task SET #state = :ready': ['snooze'],
  },
  'the dispatcher logs it, and goes on with its other schedules': {
    'get line': ['tick'],
    'transactWrite schedule SET #updatedAt = :now': ['tick'],
  },
};

class MistakenStage extends Stage {
  /** What the requests of the acting process do, in their order. */
  readonly requests: string[] = [];
  readonly #mistakenAt: number | undefined;

  constructor(mistakenAt?: number) {
    super([]);
    this.#mistakenAt = mistakenAt;
  }

  override place(name: string): WorkerPlace {
    const place = super.place(name);
    if (name !== 'actor') return place;
    const attempt: DynamoDriver['attempt'] = (kind, input, signal) => {
      this.requests.push(described(kind, input));
      return this.requests.length - 1 === this.#mistakenAt
        ? Promise.reject(new TypeError('mistake'))
        : place.driver.attempt(kind, input, signal);
    };
    return { ...place, driver: { attempt } };
  }
}

test.each(FLOWS)('$name: an unknown error is heard, and leaves nothing undone', async (flow) => {
  const stage = new MistakenStage();
  await withSimulatedAborts(() => stage.play(flow));

  const wrong: string[] = [];
  for (const [at, request] of stage.requests.entries()) {
    if (stage.requests.indexOf(request) !== at) continue;
    const { violations } = await withSimulatedAborts(() => new MistakenStage(at).play(flow));
    const isHeard = violations.some(({ message }) => message === 'TypeError: mistake');
    const flows = flowsUnheard(request);
    if (!isHeard && !flows.some((name) => name === ALL || name === flow.name))
      wrong.push(`${request}: nobody hears it`);
    if (isHeard && flows.includes(flow.name)) wrong.push(`${request}: it is heard, so its line can go`);
    for (const { invariant, message } of violations)
      if (message !== 'TypeError: mistake') wrong.push(`${request}: ${invariant} ${message}`);
  }

  expect(stage.requests).not.toEqual([]);
  expect(wrong).toEqual([]);
});

function flowsUnheard(request: string): readonly string[] {
  return Object.values(UNHEARD).flatMap(({ [request]: flows }) => flows ?? []);
}

/** Says what a request does to the first row that it names, as in `update task SET #state = :ready`. */
function described<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): string {
  const text = JSON.stringify(input);
  const row = /"pk":"(\w+)#/.exec(text)?.[1] ?? /"IndexName":"(\w+)"/.exec(text)?.[1] ?? '';
  const change = /"UpdateExpression":"([^,"]*)/.exec(text)?.[1] ?? '';
  return [kind, row, change].filter((word) => word !== '').join(' ');
}
