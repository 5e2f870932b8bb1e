import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const EXAMPLE = fileURLToPath(new URL('../support/programs/throwing-example.ts', import.meta.url));

interface End {
  readonly code: number | string | null | undefined;
  readonly output: string;
  readonly errors: string;
}

/** Ends when its output is closed: when no writer is left. No leash, which would end its processes with it. */
function run(program: string): Promise<End> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program], (error, output, errors) => {
      resolve({ code: error?.code, output, errors });
    });
  });
}

describe('an example that throws', () => {
  test('leaves none of its processes behind', async () => {
    const { code, output, errors } = await run(EXAMPLE);

    expect(code).toBe(1);
    expect(errors).toContain('the example fails');
    expect(output).toBe('');
  });
});
