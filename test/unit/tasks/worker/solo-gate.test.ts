import { setImmediate as drained } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Company } from '../../../../shared/tasks/worker/solo-gate.ts';

describe('company', () => {
  test('admits any number side by side', async () => {
    const company = new Company();

    const entered = await Promise.all([company.enter(false), company.enter(false)]);

    expect(entered).toHaveLength(2);
  });

  test('admits a loner once all others have left, and then nobody until it leaves', async () => {
    const company = new Company();
    const seen: string[] = [];
    const leaveFirst = await company.enter(false);
    const loner = company.enter(true).then((leave) => {
      seen.push('loner');
      return leave;
    });
    const newcomer = company.enter(false).then(() => seen.push('newcomer'));
    await drained();
    expect(seen).toEqual([]);

    leaveFirst();
    const leaveLoner = await loner;
    await drained();
    expect(seen).toEqual(['loner']);

    leaveLoner();
    await newcomer;
    expect(seen).toEqual(['loner', 'newcomer']);
  });

  test('lets loners in one after the other', async () => {
    const company = new Company();
    const first = await company.enter(true);
    let isSecondIn = false;
    const second = company.enter(true).then((leave) => {
      isSecondIn = true;
      return leave;
    });
    await drained();
    expect(isSecondIn).toBe(false);

    first();

    await second;
    expect(isSecondIn).toBe(true);
  });
});
