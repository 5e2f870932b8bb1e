/**
 * What `tasks tail` prints of each task that it meets.
 */
import { Writable } from 'node:stream';
import { endOf, print } from '../../../../cli/commands/tasks-tail.ts';
import { Output } from '../../../../cli/output.ts';
import { ENDED, UNFINISHED, ago, task } from '../../../support/made-rows.ts';

const lastError = { name: 'TypeError', message: 'x is \u0007 undefined', at: ago(2_000) };

export async function tail(): Promise<string> {
  const tasks = [
    ...UNFINISHED,
    ...ENDED,
    task('failed', { attempts: 1, claimedAt: ago(5_000), lastError }),
    task('failed-before-it-was-claimed', { attempts: 1, claimedAt: ago(1_000), lastError }),
    task('runs-again', { state: 'running', attempts: 2, claimedAt: ago(1_000), lastError }),
  ];
  const lines: string[] = [];
  const out = new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      lines.push(text.trimEnd());
      done();
    },
  }) as unknown as NodeJS.WriteStream;
  const output = new Output({ isJson: false, out, err: out });
  for (const found of tasks) {
    const end = endOf(found);
    lines.push(
      `# ${found.id} (${found.state})${end === undefined ? '' : `: ${end.of}, ${end.isFailure ? 'failed' : 'no failure'}`}`,
    );
    if (end !== undefined) print(output, found, end);
  }

  return `${lines.join('\n')}\n`;
}
