import { describe, expect, test } from 'vitest';
import { ENTRY_POINTS, readHostileFile } from './entry-points.ts';
import { MARK, hostileStrings } from './hostile-strings.ts';
import type { Recording } from './recording.ts';
import { openWorld } from './world.ts';

const STRINGS = hostileStrings(1_000, 20_261_121);
/** What a caller can act upon; any other error means that we stumbled. */
const CLEAR_ERRORS = new Set(['ConfigurationError', 'MismatchError', 'LockUnavailableError', 'SemaphoreFullError']);
const LONGEST_MESSAGE = 2_000;

describe('a hostile text', () => {
  const recording: Recording = { expressions: new Set(), names: new Set() };

  test.for(ENTRY_POINTS)('is accepted or clearly refused as $name', async (entry) => {
    const world = openWorld(recording);
    const session = await world.leasehold.session({ ttl: null });
    const stumbles = new Map<string, string>();
    for (const text of STRINGS) {
      try {
        await entry.call(text, world, session);
      } catch (error) {
        const stumble = stumbleOf(error);
        if (stumble !== undefined && !stumbles.has(stumble)) stumbles.set(stumble, JSON.stringify(text.slice(0, 100)));
      }
    }

    expect(Object.fromEntries(stumbles)).toEqual({});
  });

  test('becomes a task or a rejected line in a file of tasks', async () => {
    const { lines, tasks, rejected } = await readHostileFile(STRINGS, openWorld(recording));

    expect(tasks.length + rejected.length).toBe(lines);
    expect(rejected.filter(({ error }) => error === '')).toEqual([]);
    expect(
      new Set(rejected.filter(({ error }) => error.length > LONGEST_MESSAGE).map(({ error }) => error.slice(0, 20))),
    ).toEqual(new Set());
  });

  test('never reaches an expression: there are just these', async () => {
    const { expressions, names } = recording;

    expect([...expressions, ...names].filter((text) => text.includes(MARK))).toEqual([]);
    expect([...names].filter((name) => !/^[\w-]+(?:\/[\w*]+)?$/.test(name))).toEqual([]);
    await expect(`${list(expressions)}\n`).toMatchFileSnapshot('expressions.txt');
  });
});

/** What is wrong with an error, if anything is. */
function stumbleOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return `threw ${typeof error}`;
  const { name, message } = error;
  if (!CLEAR_ERRORS.has(name)) return `${name}: ${message.slice(0, 200)}`;
  if (message === '') return `${name} without a word`;
  return message.length > LONGEST_MESSAGE ? `${name} of more than ${LONGEST_MESSAGE} characters` : undefined;
}

/** What a heartbeat sends, should one come by: whether it does is the machine's speed. */
const OF_HEARTBEATS =
  /^(?:ConditionExpression #status = :live AND #nonce = :lastNonce|UpdateExpression SET #(?:expiresAt|renewals) = )/;

/** The ring of past attempts makes four of one expression. */
function list(expressions: ReadonlySet<string>): string {
  const texts = [...expressions].filter((text) => !OF_HEARTBEATS.test(text));
  return [...new Set(texts.map((text) => text.replaceAll(/#past[0-3]/g, '#past<n>')))].sort().join('\n');
}
