import { setImmediate as drained } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../../support/manual-clock.ts';
import { SoloGate } from '../../../../shared/tasks/worker/solo-gate.ts';

const opened = (): { clock: ManualClock; company: SoloGate; over: AbortController } => {
  const clock = new ManualClock('2026-11-24T00:00:00Z');
  const over = new AbortController();
  return { clock, company: new SoloGate(clock, over.signal), over };
};

describe('company', () => {
  test('admits a solo task when all others have left, and no other task until it leaves', async () => {
    const { company } = opened();
    const seen: string[] = [];
    const leaveFirst = await company.enter();
    const loner = company.enterAlone().then((leave) => {
      seen.push('loner');
      return leave;
    });
    const newcomer = company.enter().then(() => seen.push('newcomer'));
    await drained();
    expect(seen).toEqual([]);

    leaveFirst();
    const leaveLoner = await loner;
    await drained();
    expect(seen).toEqual(['loner']);

    leaveLoner?.();
    await newcomer;
    expect(seen).toEqual(['loner', 'newcomer']);
  });

  test('admits new tasks if others run for long, and eventually the solo task', async () => {
    const { clock, company } = opened();
    const leaveFirst = await company.enter();
    const seen: string[] = [];
    const first = company.enterAlone();
    void company.enter().then((leave) => {
      seen.push('newcomer');
      leave();
    });

    await clock.advance(2_000);

    expect(await first).toBeUndefined();
    await drained();
    expect(seen).toEqual(['newcomer']);
    // The others have some time, then it waits for longer.
    expect(await company.enterAlone()).toBeUndefined();
    await clock.advance(8_000);
    const second = company.enterAlone();
    await clock.advance(3_000);
    leaveFirst();
    (await second)?.();

    // It came to its turn, so the next one that is kept waiting keeps the others for no longer than the first.
    await company.enter();
    const third = company.enterAlone();
    await clock.advance(2_000);
    expect(await third).toBeUndefined();
  });

  test('ends all waits when the worker ends', async () => {
    const { company, over } = opened();
    await company.enter();
    const loner = company.enterAlone();
    const newcomer = company.enter();

    over.abort();

    expect(await loner).toBeUndefined();
    await newcomer;
  });
});
