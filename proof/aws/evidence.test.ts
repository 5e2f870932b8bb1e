/** The schema of the evidence, the page made from it, what benches read of it, and the price of the plan. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Evidence } from '../../bench/evidence.ts';
import { EVIDENCE, newestEvidence, PART_NAMES } from '../../bench/evidence.ts';
import { measuredLatencies } from '../../bench/latencies.ts';
import { pageOf } from './page.ts';
import { dollarsOf, FULL, LIMIT_DOLLARS, planText } from './plan.ts';

/** Made up: no figure here was measured. */
const fixture: Evidence = {
  schema: 1,
  at: '2026-12-01T12:00:00.000Z',
  commit: '0123456789ab',
  region: 'eu-central-1',
  platform: 'aws',
  parts: {
    tasks: {
      status: 'measured',
      measured: {
        tasks: 10,
        waves: [{ tasks: 10, seconds: 12.5 }],
        killed: { exit: 2 },
        once: 10,
        twice: 0,
        lost: 0,
        attempts: { 1: 7, 2: 3 },
      },
    },
    indexLag: { status: 'measured', measured: { ready: [7, 9, 11], directory: [8, 8, 8] } },
    stream: { status: 'measured', measured: { toFirstLine: [100, 200, 300] } },
    starts: { status: 'measured', measured: { cold: [500, 510, 520], warm: [40, 50, 60] } },
    clocks: {
      status: 'measured',
      measured: {
        rounds: [{ frozenSeconds: 60, sameEnvironment: true, wallAheadMs: 0.4, leastAheadMs: -3, mostAheadMs: 12 }],
      },
    },
    units: {
      status: 'measured',
      measured: {
        verbs: [
          { verb: 'task.claim', requests: 2, writes: 2, writesByModel: 2, reads: 0, readsByModel: 0 },
          { verb: 'lock.acquire', requests: 1, writes: 3, writesByModel: 2, reads: 0, readsByModel: 0 },
        ],
      },
    },
    signatures: {
      status: 'measured',
      measured: {
        requests: 1_000,
        unverified: 0,
        otherFaults: 1,
        unverifiedAfterRotation: 0,
        request: [4, 5, 6],
        dated: [{ minutesBack: 16, outcome: 'InvalidSignatureException' }],
      },
    },
    copies: {
      status: 'measured',
      measured: {
        applied: { first: 'ok', again: 'ok', effects: 1 },
        canceled: { first: 'TransactionCanceledException', again: 'ok', effects: 1 },
      },
    },
    throttles: {
      status: 'failed',
      why: 'the time was over',
    },
  },
};
const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-evidence-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the evidence', () => {
  test('fits its schema, which refuses an unknown field, a negative time and a missing part', () => {
    const { parts } = fixture;
    const { throttles: _, ...fewer } = parts;

    expect(EVIDENCE.parse(structuredClone(fixture))).toEqual(fixture);
    for (const wrong of [
      { ...fixture, account: '123456789012' },
      { ...fixture, parts: { ...parts, stream: { status: 'measured', measured: { toFirstLine: [-1] } } } },
      { ...fixture, parts: { ...parts, stream: { status: 'unsupported', measured: { toFirstLine: [1] } } } },
      { ...fixture, parts: fewer },
    ])
      expect(EVIDENCE.safeParse(wrong).success).toBe(false);
  });

  test('has a section for each part on its page', () => {
    const page = pageOf(fixture);

    expect(page.match(/^## /gm)).toHaveLength(PART_NAMES.length);
    expect(page).toContain('"once": 10');
    expect(page).toMatch(/"cold": \{\s+"samples": 3,\s+"p50": 510,\s+"p90": 520,\s+"p99": 520,\s+"most": 520\s+\}/);
    expect(page).toContain('"verb": "lock.acquire"');
    expect(page).not.toContain('"verb": "task.claim"');
    expect(page).toContain('Failed: the time was over.');
    expect(pageOf({ ...fixture, platform: 'emulator' })).toContain('an emulator: nothing here is about AWS');
  });

  test('gives the benches what it has measured, from the newest file of AWS', () => {
    const older = { ...fixture, region: 'us-east-1' };
    const emulated = { ...fixture, platform: 'emulator' };
    expect(newestEvidence(folder)).toBeUndefined();
    for (const [day, evidence] of Object.entries({ '01': older, '02': fixture, '03': emulated }))
      writeFileSync(path.join(folder, `2026-12-${day}.json`), JSON.stringify(evidence));

    const newest = newestEvidence(folder);

    expect(newest).toEqual(fixture);
    expect(measuredLatencies(newest!)).toEqual({
      streamMs: { p50: 200, p99: 300 },
      invokeMs: { p50: 50, p99: 60 },
      coldStartMs: 460,
      dynamoMs: 5,
      indexLagMs: 11,
    });
    const failed = { ...fixture.parts, stream: { status: 'failed' as const, why: 'no' } };
    expect(measuredLatencies({ ...fixture, parts: failed })).not.toHaveProperty('streamMs');
  });

  test('costs at most a dollar, which the plan says before anything is deployed', () => {
    expect(dollarsOf(FULL)).toBeLessThan(LIMIT_DOLLARS);
    expect(planText(FULL, 'LeaseholdEvidence-abc123', 'eu-central-1')).toContain(
      `$${dollarsOf(FULL).toFixed(2)}  together`,
    );
  });
});
