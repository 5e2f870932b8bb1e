/** Compares the gateway with a real Consul, using `node consul/test/compare/compare.ts`; skipped without a Consul and without Go. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';

// oxlint-disable-next-line typescript/strict-void-return -- `promisify` has an overload for such functions as `execFile`, which the rule does not see
const run = promisify(execFile);

const PROGRAM = fileURLToPath(new URL('./compare/compare.ts', import.meta.url));

test.skipIf(inject('embeddedEndpoint') === null)(
  'answers as Consul does, or differs as consul/README.md says',
  async (context) => {
    const argv = [PROGRAM, '--sequences', '100', '--json'];
    // Its exit code says what the report says.
    const { stdout } = await run(process.execPath, argv, { maxBuffer: 64 * 1024 * 1024 }).catch(
      (error: unknown) => error as { readonly stdout: string },
    );
    const report = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as {
      readonly skipped?: string;
      readonly asked: number;
      readonly unexplained: number;
    };

    if (report.skipped !== undefined) context.skip(report.skipped);
    expect(report.asked).toBeGreaterThan(4_000);
    expect(report.unexplained, stdout).toBe(0);
  },
);
