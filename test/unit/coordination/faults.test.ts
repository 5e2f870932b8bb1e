/**
 * Each request of each verb meets each accident once. The text has the verb's answer, and the rows half a minute later.
 *
 * `lost`: the answer is lost once. `away`: the request does not arrive, and the store is away until the verb has ended.
 * `lost, away`: it is applied, and then the store is away. `rival`: another process is faster.
 * `mistake`: the driver throws an unexpected error. `denied`: the process may not send this request.
 * `frozen`: the process is frozen for three minutes between request and answer. `wrong clock`: it is proven from the first request on.
 * A verb that ended with an error is then called again.
 *
 * After an intended change: `npx vitest run test/unit/coordination/faults.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { passTime } from '../../support/coordination.ts';
import type { Scene, Verb } from '../../support/coordination-verbs.ts';
import { LOCKS, OTHERS, SECOND } from '../../support/coordination-verbs.ts';
import { Story, shown } from '../../support/story.ts';

const STARTS_AT = Date.parse('2026-03-01T12:00:00Z');
const ACCIDENTS = ['lost', 'away', 'lost, away', 'mistake', 'denied', 'rival', 'frozen', 'wrong clock'] as const;
type Accident = (typeof ACCIDENTS)[number];
const ANSWERED = new Set<Accident | undefined>(['rival', 'frozen', 'wrong clock']);

interface Run {
  readonly answer: string;
  readonly verbs: string;
  readonly requests: number;
  readonly again: string | undefined;
  readonly rows: ReadonlyMap<string, string>;
}

/** Not answered, and thrown instead. */
const THROWN: Partial<Record<Accident, () => Error>> = {
  away: () => noAnswer(),
  mistake: () => new RangeError('a mistake'),
  denied: () => new DynamoFault('rejected', { code: 'AccessDeniedException', message: 'not allowed' }),
};

const noAnswer = () => new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });

/** The requests of a second page or of another shard need no accident of their own. */
const MOST_REQUESTS = 5;

async function run({ prepare, act, rival }: Verb, accident?: Accident, at?: number): Promise<Run | undefined> {
  const story = new Story();
  const { here, there, world } = story;
  const mine = await here.leasehold.session({ ttl: '2m', name: 'mine', node: 'n1' });
  const theirs = await there.leasehold.session({ ttl: '20s', lockDelay: '5s', name: 'theirs', node: 'n2' });
  const scene: Scene = { here, there, mine, theirs, pass: (ms) => story.pass(ms) };
  const given = (await prepare(scene)) as never;
  if (accident === 'rival' && rival === undefined) return undefined;
  if (accident === 'wrong clock' && at !== 1) return undefined;
  here.provenSkew.ms = accident === 'wrong clock' ? 600 : 0;

  const attempt = here.driver.attempt.bind(here.driver);
  let requests = 0;
  here.driver.attempt = async (kind, input, signal) => {
    if (++requests !== at) return attempt(kind, input, signal);
    if (accident === 'rival') await rival?.(scene, given);
    const thrown = accident && THROWN[accident]?.();
    const answer = thrown === undefined ? await attempt(kind, input, signal) : undefined;
    here.driver.isDown = accident === 'away' || accident === 'lost, away';
    if (accident === 'frozen') world.clock.step(180 * SECOND);
    if (answer !== undefined && ANSWERED.has(accident)) return answer;
    throw thrown ?? noAnswer();
  };
  const tell = async (): Promise<string> => brief(shown(await act(scene, given)));
  /** Without its words, which `answers.test.ts` tells. */
  const named = (error: unknown): string => {
    const { name, message: _, stack: __, cause: ___, ...facts } = error as Error;
    return `${name} ${brief(shown(facts))}`;
  };
  const outcome = { answer: '', isError: false };
  const { verbs } = await here.cost(async () => {
    outcome.answer = await passTime(world, tell()).catch((error: unknown) => {
      outcome.isError = true;
      return named(error);
    });
  });
  here.driver.isDown = false;
  here.provenSkew.ms = 0;
  here.driver.attempt = attempt;
  const isRepeated = outcome.isError && accident !== undefined;
  const again = isRepeated ? await passTime(world, tell()).catch(named) : undefined;
  await story.pass(30 * SECOND);
  return {
    answer: outcome.answer,
    verbs: shown(Object.keys(verbs).sort()),
    requests,
    again,
    rows: rowsOf(world.rows()),
  };
}

/** Moments count from the start. */
function brief(text: string): string {
  return text
    .replace(/\b1772366\d{6}\b/g, (moment) => `+${Number(moment) - STARTS_AT}`)
    .replaceAll(', signal: AbortSignal { aborted: false }', '')
    .replaceAll(', closedUntil: undefined', '');
}

const NOT_TOLD = new Set(['pk', 'sk', 'v', 'nonce', 'directoryKey', 'directoryName', 'ttl']);

/** Rows by their keys; rows of one partition with the same content are counted. */
function rowsOf(rows: readonly Readonly<Record<string, unknown>>[]): ReadonlyMap<string, string> {
  const told = rows.flatMap((row) => {
    const { pk, sk, status, reason, revoked, checks } = row;
    // A session that lives is left out.
    if (sk === 'session' && status === 'live' && revoked === undefined && checks === undefined) return [];
    const facts =
      sk === 'session'
        ? { status, reason, revoked, checks }
        : Object.fromEntries(Object.entries(row).filter(([name]) => !NOT_TOLD.has(name)));
    return [[brief(String(pk)), brief(String(sk)), brief(shown(facts))] as const];
  });
  const alike = Map.groupBy(told, ([pk, sk, facts]) => `${pk} ${sk.startsWith('member#') ? `member ${facts}` : sk}`);
  return new Map(
    [...alike].map(([key, [first, ...more]]) => [key, more.length > 0 ? `× ${more.length + 1}` : `${first?.[2]}`]),
  );
}

test.each([
  ['locks', LOCKS],
  ['others', OTHERS],
])('each request of the verbs of %s meets each accident', async (name, verbs) => {
  const lines: string[] = [];
  for (const [what, one] of Object.entries(verbs)) {
    const usual = (await run(one))!;
    lines.push(`${what}: ${usual.verbs}`, `  ${usual.answer}`);
    for (const [key, row] of usual.rows) lines.push(`  ${key} ${row}`);
    for (let at = 1; at <= Math.min(usual.requests, MOST_REQUESTS); at++)
      for (const accident of ACCIDENTS) {
        const met = await run(one, accident, at);
        if (met === undefined) continue;
        lines.push(`${at} ${accident}: ${met.answer === usual.answer ? 'the same' : met.answer}`);
        if (met.verbs !== usual.verbs) lines.push(`  by ${met.verbs}`);
        if (met.again !== undefined) lines.push(`  again: ${met.again === usual.answer ? 'the same' : met.again}`);
        for (const key of new Set([...usual.rows.keys(), ...met.rows.keys()]))
          if (met.rows.get(key) !== usual.rows.get(key)) lines.push(`  ${key} ${met.rows.get(key) ?? 'is not there'}`);
      }
    lines.push('');
  }

  await expect(lines.join('\n')).toMatchFileSnapshot(`./faults.${name}.txt`);
});
