import { describe, expect, test } from 'vitest';
import { defined } from '../../../shared/core/defined.ts';

describe('defined', () => {
  test('leaves out undefined fields only', () => {
    const fields: { one: number | undefined; two?: string; none: null; no: boolean; zero: number } = {
      one: undefined,
      none: null,
      no: false,
      zero: 0,
    };

    expect(Object.entries(defined(fields))).toEqual([
      ['none', null],
      ['no', false],
      ['zero', 0],
    ]);
  });
});
