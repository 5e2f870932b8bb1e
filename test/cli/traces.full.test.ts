/** Three processes with OpenTelemetry's SDK in each: one enqueues, one is killed, one takes over. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { runCommand, spawnCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';
import type { SpanLine } from '../support/programs/spans-to-file.ts';

const endpoint = inject('embeddedEndpoint');
const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const ENTRY = here('../support/tasks-modules/hostile.ts');
const PRELOADED = here('../support/programs/spans-to-file.ts');
const PATIENCE = { timeout: 300_000, interval: 100 };

describe.skipIf(endpoint === null)('a trace over processes', () => {
  let table: CommandTable;
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-spans-'));
  const file = path.join(folder, 'spans.jsonl');
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
    rmSync(folder, { recursive: true });
  });

  const traced = (...argv: string[]) =>
    spawnCommand(
      {
        LEASEHOLD_ENDPOINT: table.endpoint,
        LEASEHOLD_TABLE: table.table,
        NODE_OPTIONS: `--import ${PRELOADED}`,
        SPANS_FILE: file,
      },
      argv,
    );
  const work = () => traced('work', '--entry', ENTRY, '--queue', 'traced', '--session-ttl', '6s');

  test('is connected although a worker was killed in the middle of it', async () => {
    // Three seconds of work, so that a poll finds it running; a merely slow worker must not lose its session in that time.
    await traced('enqueue', 'long', '30', '--id', 'kept', '--queue', 'traced').ended;
    const killed = work();
    await vi.waitFor(async () => {
      const { out } = await runCommand(table, 'tasks', 'show', 'kept', '--queue', 'traced', '--json');
      expect(JSON.parse(out)).toMatchObject({ state: 'running' });
    }, PATIENCE);
    killed.process.kill('SIGKILL');
    await killed.ended;
    const survivor = work();
    await survivor.said(/done kept/);
    survivor.process.kill('SIGTERM');
    await survivor.ended;

    const spans = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as SpanLine);
    expect(new Set(spans.map(({ trace }) => trace)).size).toBe(1);
    const ids = new Set(spans.map(({ id }) => id));
    expect(spans.filter(({ parent }) => parent !== undefined && !ids.has(parent))).toEqual([]);
    const attempts = spans.filter(({ name }) => name === 'process traced');
    expect(attempts.map(({ attributes }) => attributes['leasehold.settlement'])).toEqual(['died', 'done']);
  });
});
