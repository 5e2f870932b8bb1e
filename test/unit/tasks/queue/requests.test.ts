/**
 * Requests for a batch or a file of tasks, and their results or refusals: each option at each edge of its values.
 *
 * After an intended change: `npx vitest run test/unit/tasks/queue/requests.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import { newBatchOf } from '../../../../shared/tasks/queue/batch-request.ts';
import { checkLines } from '../../../../shared/tasks/queue/task-file.ts';
import type { TaskRegistry } from '../../../../shared/tasks/task/definition.ts';
import { defineTask, registerTasks } from '../../../../shared/tasks/task/definition.ts';
import type { TaskRequest } from '../../../../shared/tasks/task/task-request.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { NewTask } from '../../../../shared/tasks/task/task-store.ts';
import { INPUT_LIMIT_BYTES } from '../../../../shared/tasks/task/task.ts';
import { STARTS_AT } from '../../../support/coordination.ts';
import { Story, shown } from '../../../support/story.ts';

const NOW = Date.parse(STARTS_AT);
const REJECTS = shown({ policy: 'reject', windowMs: undefined });
const defaultsOf = ({ here }: Story) => ({ runtime: here.runtime, queue: 'default', hasPayloadStore: true });
/** A text of this size in bytes, as JSON. */
const bytes = (count: number, letter = 'x'): string => letter.repeat(count - 2);
const short = (text: string): string => text.replaceAll(/([xy])\1{19,}/g, (all) => `${all[0]}(${all.length})`);
/** The options given, without the input, the defaults and the text of a payload. */
function brief({ input: _, payload, runAt, priority, dedup, name, ...given }: NewTask): object {
  const facts = {
    ...given,
    name: name === 'work' ? undefined : name,
    priority: priority === 'normal' ? undefined : priority,
    runAt: runAt === NOW ? undefined : new Date(runAt).toISOString(),
    dedup: dedup === undefined || shown(dedup) === REJECTS ? undefined : dedup,
    bytes: payload?.bytes,
  };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

const child = (id?: string, options: object = {}) =>
  spawn('work', 1, { ...(id === undefined ? {} : { id }), ...options });
const then = (options: object = {}, input: unknown = null) => spawn('after', input, options);

const BATCHES: readonly (readonly [children: unknown, options: object])[] = [
  [[child()], {}],
  [[child(), child('own'), child()], { then: then() }],
  [[child('a'), child('b')], { then: then({ id: 'c', priority: 'high', tenant: 'acme' }) }],
  [[child('a', { tenant: 'acme', key: 'k', priority: 'low', delay: '1m' })], {}],
  [[child('a', { queue: 'media' })], {}],
  [[child('a')], { queue: 'media' }],
  [[child('a', { queue: 'media' })], { queue: 'media', then: then({ queue: 'other' }) }],
  [[child('a')], { queue: '' }],
  [[], {}],
  ['none', {}],
  [[child('a'), 'none'], {}],
  [[child('a'), child('a')], {}],
  [[child('b/1'), child()], {}],
  [[child('a')], { then: then({ id: 'a' }) }],
  [[child('a')], { then: then({ id: 'a', queue: 'other' }) }],
  [[child('b/then')], { then: then() }],
  [[child('a', { onDuplicate: 'reject' })], {}],
  [[child('a', { onDuplicate: 'keep' })], {}],
  [[child('a', { onDuplicate: 'reject', window: '1m' })], {}],
  [[child('a', { window: '1m' })], {}],
  [[child('a')], { then: then({ delay: '1m' }) }],
  [[child('a')], { then: then({ delay: undefined }) }],
  [[child('a')], { then: then({ key: 'k', ordered: true }) }],
  [[child('a')], { then: then({}, bytes(INPUT_LIMIT_BYTES)) }],
  [[child('a')], { then: then({}, bytes(INPUT_LIMIT_BYTES + 1)) }],
  [[spawn('work', bytes(INPUT_LIMIT_BYTES + 1), { id: 'a' })], {}],
  [[child('a')], { then: 'none' }],
  [[child('a')], { callback: then() }],
  [Array.from({ length: 10_000 }, () => child()), {}],
  [Array.from({ length: 10_001 }, () => child()), {}],
];

test('batches', async () => {
  const story = new Story();
  const lines: string[] = [];
  for (const [children, options] of BATCHES) {
    const made = await newBatchOf(children as never, { id: 'b', ...options }, defaultsOf(story)).catch(
      (error: unknown) => error as Error,
    );
    const many = Array.isArray(children) && children.length > 9 ? `${children.length} children` : shown(children);
    lines.push(short(`${many} ${shown(options)}`));
    if (made instanceof Error) lines.push(`  ${short(shown(made))}`);
    else {
      const { tasks, callback } = made;
      lines.push(...tasks.slice(0, 3).map((task) => `  ${shown(brief(task))}`));
      if (tasks.length > 3) lines.push(`  and ${tasks.length - 3} more, the last ${shown(brief(tasks.at(-1)!))}`);
      if (callback !== undefined) lines.push(`  then ${shown(brief(callback))}`);
    }
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./requests.batches.golden.txt');
});

const threes = defineTask({ name: 'threes', run: (_: unknown) => undefined });

const FILES: Readonly<Record<string, string>> = {
  empty: '',
  'empty lines': '\n\r\n  \n{"name":"threes","id":"a"}\n',
  'a mark of its order of bytes': '\uFEFF{"name":"threes","id":"a"}',
  'lines of Windows': '{"name":"threes","id":"a","input":1}\r\n{"name":"threes","id":"b","input":2}\r\n',
  'all fields': '{"name":"threes","id":"a","input":{"n":1},"priority":"low","delay":"1m","key":"k","tenant":"acme"}',
  times: [
    '"2027-01-31"',
    '"2027-01-31T08:00:00Z"',
    '"90s"',
    '"90"',
    '1800000000',
    '1800000000000',
    '"2027-02-30"',
    '"soon"',
    'null',
    '7.5',
  ]
    .map((delay, n) => `{"name":"threes","id":"${n}","delay":${delay}}`)
    .join('\n'),
  'an end of life':
    '{"name":"threes","id":"a","expires":"2027-01-31T08:00:00+01:00"}\n{"name":"threes","id":"b","expires":"x"}',
  'no JSON': '{"name":"threes"',
  'no object': '[]\n7\nnull\n"threes"',
  'no name': '{"input":1}\n{"name":7}',
  'an unknown name': '{"name":"trees"}',
  'an unknown field': '{"name":"threes","prioritys":"low"}\n{"name":"threes","queue":"media"}',
  'the same twice':
    '{"name":"threes","id":"a","input":{"m":1,"n":2}}\n\n{"name":"threes","id":"a","input":{"n":2,"m":1}}',
  'other input under one id':
    '{"name":"threes","id":"a","input":1}\n\n{"name":"threes","id":"a","input":2}\n{"name":"threes","id":"a","input":2}',
  'another name under one id': '{"name":"threes","id":"a"}\n{"name":"fours","id":"a"}',
  'other input, to replace it':
    '{"name":"threes","id":"a","input":1}\n{"name":"threes","id":"a","input":2,"onDuplicate":"replace"}\n{"name":"threes","id":"a","input":3}',
  'other input within a window':
    '{"name":"threes","id":"a","input":1,"window":"1m"}\n{"name":"threes","id":"a","input":2,"window":"1m"}',
};

test('files', async () => {
  const { here } = new Story();
  const fours = defineTask({ name: 'fours', run: (_: unknown) => undefined });
  const toldOf = async (text: string, registry?: TaskRegistry): Promise<readonly string[]> => {
    const { lines, bad } = await checkLines(Buffer.from(text), here.leasehold.tasks, registry);
    return [
      ...lines.map(({ number, task }) => `  ${number}: ${shown({ ...brief(task), input: task.input })}`),
      // The rest is the runtime's own text.
      ...bad.map(({ line, error }) => `  ${line}: ${error.replace(/^not JSON: .*/, 'not JSON')}`),
    ].map((line) => line.replace(/id-\d+/, 'new'));
  };
  const lines: string[] = [];
  for (const [name, text] of Object.entries(FILES)) {
    const defined = await toldOf(text, registerTasks({ threes, fours }));
    const named = await toldOf(text);
    lines.push(name, ...defined);
    if (named.join() !== defined.join()) lines.push(' by names alone', ...named);
  }
  await expect(checkLines(Buffer.from([0xff, 0x7b]), here.leasehold.tasks, undefined)).rejects.toThrow(
    'not UTF-8 text',
  );
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./requests.files.golden.txt');
});

test('an error that a schema throws reaches the caller of each request as it is', async () => {
  const { here } = new Story();
  const { tasks, schedules } = here.leasehold;
  const broken = new TypeError('a mistake in the schema');
  const validate = (): never => {
    throw broken;
  };
  const input = { '~standard': { version: 1, vendor: 'test', validate } } as never;
  const odd = defineTask({ name: 'odd', input, run: () => undefined });
  const asked = spawn(odd as never, 1, { id: 'a' });

  const answers = await Promise.all(
    [
      tasks.enqueue(odd as never, 1),
      tasks.validate(odd as never, 1),
      tasks.enqueueAll([spawn('work', 1), asked]),
      tasks.enqueueBatch([asked], { id: 'b' }),
      tasks.enqueueBatch([spawn('work', 1)], { id: 'b', then: asked }),
      tasks.enqueue(odd as never, 1, { writes: [{ Delete: { TableName: 't', Key: {} } }] }),
      tasks.enqueueAndWait(odd as never, 1),
      schedules.define('s', odd as never, 1, { cron: '0 * * * *' }),
    ].map((asking: Promise<unknown>) => asking.catch((error: unknown) => error)),
  );

  expect(answers.map((answer) => answer === broken)).toEqual(answers.map(() => true));
  expect(await tasks.get('a')).toBeUndefined();
});

const TWO = [child('a'), child('b')];
const AGAIN: Readonly<Record<string, readonly [children: readonly TaskRequest[], options: object]>> = {
  'the same': [TWO, { then: then() }],
  'its children in another order': [[...TWO].reverse(), { then: then() }],
  'a child less': [[child('a')], { then: then() }],
  'a child more': [[...TWO, child('c')], { then: then() }],
  'another child': [[child('a'), child('c')], { then: then() }],
  'other input of a child': [[child('a'), spawn('work', 2, { id: 'b' })], { then: then() }],
  'no callback': [TWO, {}],
  'another id of the callback': [TWO, { then: then({ id: 'c' }) }],
  'another tenant of the callback': [TWO, { then: then({ tenant: 'acme' }) }],
  'other input of the callback': [TWO, { then: then({}, 7) }],
  'another callback': [TWO, { then: spawn('other', null) }],
};

test('a batch that is asked for again, as it was or otherwise', async () => {
  const lines: string[] = [];
  for (const [what, [children, options]] of Object.entries(AGAIN)) {
    const { here, there, world } = new Story();
    await there.leasehold.tasks.enqueueBatch(TWO, { id: 'b', then: then() });
    const answer = await here.leasehold.tasks
      .enqueueBatch(children, { id: 'b', ...options })
      .catch((error: unknown) => error);
    const tasks = world.rows().filter(({ pk }) => String(pk).startsWith('task#'));
    lines.push(
      `${what}: ${shown(answer)}`,
      `  ${tasks
        .map(({ id }) => String(id))
        .sort()
        .join(' ')}`,
    );
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./requests.again.golden.txt');
});
