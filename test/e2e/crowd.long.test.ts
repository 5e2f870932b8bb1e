/** A crowd in eight real processes: one line, and one semaphore, on a real engine. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';
import { startExample } from '../support/example-process.ts';

const endpoint = inject('embeddedEndpoint');
const PROCESSES = 8;
const CALLERS = 25;
const LIMIT = 5;

interface Holding {
  readonly token: number;
  readonly from: number;
  readonly until: number;
}

describe.skipIf(endpoint === null)('eight processes that begin at one moment', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => closeCommandTable(table));

  test('join one line, each in the order of its calls, and hold at most the limit of one semaphore', async () => {
    const program = 'test/support/programs/crowd.ts';
    const processes = Array.from({ length: PROCESSES }, (_, n) =>
      startExample(program, [endpoint ?? '', table.table, String(n), String(CALLERS)]),
    );
    try {
      await Promise.all(processes.map((one) => one.said(/^ready$/m)));
      await table.leasehold.locks.put('go', 'now');
      const codes = await Promise.all(processes.map((one) => one.ended()));
      expect(codes, processes.map(({ output }) => output).join('\n')).toEqual(codes.map(() => 0));

      const tasks = await Array.fromAsync(table.leasehold.operator.open({ shards: 8 }));
      const joined = tasks
        .map(({ input, links }) => ({ ...(input as { process: string; n: number }), ticket: links?.line?.ticket ?? 0 }))
        .sort((one, other) => one.ticket - other.ticket);
      expect(new Set(joined.map(({ ticket }) => ticket)).size).toBe(PROCESSES * CALLERS);
      for (let n = 0; n < PROCESSES; n++)
        expect(joined.filter(({ process }) => process === String(n)).map((task) => task.n)).toEqual(
          Array.from({ length: CALLERS }, (_, nth) => nth),
        );

      const held = processes.flatMap(({ output }) => JSON.parse(/^held (.*)$/m.exec(output)?.[1] ?? '[]') as Holding[]);
      expect(new Set(held.map(({ token }) => token)).size).toBe(PROCESSES * CALLERS);
      const atOnce = held.map(({ from }) => held.filter((other) => other.from <= from && from < other.until).length);
      expect(Math.max(...atOnce)).toBeLessThanOrEqual(LIMIT);
    } finally {
      await Promise.all(processes.map((one) => one[Symbol.asyncDispose]()));
    }
  });
});
