/** `leasehold tasks tail` where it reads the list of finished tasks: each end once, also one that the index shows late. */
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { Output } from '../../../cli/output.ts';
import { followList } from '../../../cli/queue/ended-list.ts';
import type { EndedEntry } from '../../../shared/tasks/task/ended-list.ts';
import { FakeClock } from '../../../shared/testing/fake-clock.ts';

const STARTED = new Date('2026-03-01T12:00:00Z');

test('prints each end once, oldest first, and leaves out what is not asked for', async () => {
  const clock = new FakeClock(STARTED);
  const at = (seconds: number): number => STARTED.getTime() + seconds * 1_000;
  const ended = (id: string, seconds: number, attempts = 2): EndedEntry => ({
    kind: 'ended',
    queue: 'q',
    id,
    at: at(seconds),
    state: 'done',
    name: 'mail',
    attempts,
    label: 'order o-7',
  });
  /** The entries that each reading finds, newest first. */
  const readings = [
    [],
    [ended('b', 1.5), ended('a', 1)],
    [ended('late', 0.5), ended('b', 1.5), ended('first-attempt', 2, 1)],
    [ended('b', 5)],
  ];
  const sinces: Date[] = [];
  async function* list({ since }: { readonly since: Date }) {
    sinces.push(since);
    yield* readings.shift() ?? [];
  }
  let text = '';
  const out = new Writable({
    decodeStrings: false,
    write: (line: string, _encoding, done) => {
      text += line;
      done();
    },
  }) as unknown as NodeJS.WriteStream;
  const stop = new AbortController();

  const following = followList(
    { shards: 8, operator: { ended: list } as never },
    { failed: true },
    { output: new Output({ isJson: false, out, err: out }), clock },
    stop.signal,
  );
  await clock.advance(20_000);
  stop.abort();
  await following;

  expect(text.match(/mail \S+/g)).toEqual(['mail a', 'mail b', 'mail late', 'mail b']);
  expect(text).toMatch(/^2026-03-01T12:00:01.000Z {2}done {7}mail a {2}attempt 2 {2}order o-7$/m);
  expect([sinces[0], sinces.at(-1)]).toEqual([STARTED, new Date(at(10))]);
});
