/** The shipped code's histories, held to the specification; needs Java, and is skipped without. */
import { beforeAll, describe, expect, test } from 'vitest';
import { findTlc } from '../../../spec/tlc.ts';
import { runSeed } from '../run-seed.ts';
import { rejectedOf } from './check.ts';
import type { Exported } from './export.ts';
import { exportTraces } from './export.ts';

const tlc = findTlc(undefined);

describe.skipIf(typeof tlc === 'string' && process.env.CI !== 'true')('histories of the shipped code', () => {
  let exported: Exported;

  beforeAll(async () => {
    exported = exportTraces(await runSeed(3n, 'swarm', { keepHistory: true }));
  });

  test('are lives of rows that the specification allows', async () => {
    expect(exported.traces.length).toBeGreaterThan(10);

    expect(await rejectedOf(found(), exported.traces)).toEqual([]);
  });

  test('are rejected when a claim does not move the counter', async () => {
    const claim = /(k \|-> "task\.claim".*?y \|-> \[st \|-> "running", ctr \|-> )(\d+)/;
    const index = exported.traces.findIndex((trace) => claim.test(trace));
    const broken = exported.traces[index]?.replace(
      claim,
      (_, head: string, counter: string) => `${head}${Number(counter) - 1}`,
    );

    const rejected = await rejectedOf(found(), [String(broken)]);

    expect(rejected).toHaveLength(1);
    expect(rejected[0]).toContain('task.claim');
  });

  test('are rejected when a write was refused that should have been applied', async () => {
    const renewal = /what \|-> "session", k \|-> "session\.renew"(.*?), ok \|-> TRUE, y \|-> \[[^\]]*\]/;
    const index = exported.traces.findIndex((trace) => renewal.test(trace));
    const broken = exported.traces[index]?.replace(
      renewal,
      'what |-> "session", k |-> "session.renew"$1, ok |-> FALSE',
    );

    const rejected = await rejectedOf(found(), [String(broken)]);

    expect(rejected).toHaveLength(1);
    expect(rejected[0]).toContain('session.renew');
  });

  function found() {
    if (typeof tlc === 'string') throw new Error(tlc);
    return tlc;
  }
});
