/** The project's own commands: they refuse unknown arguments at once, in a sentence, without doing anything. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../..');
const COMMANDS = [
  ...['release/build.ts', 'release/docs.ts', 'release/check.ts'],
  ...['test/deploy/deploy.ts', 'test/deploy/evidence.ts', 'test/readme/readme.ts'],
];

function run(file: string, ...argv: readonly string[]) {
  // Limit for a command that does its work instead of refusing: reading a command line is much faster.
  const options = { cwd: ROOT, encoding: 'utf8', timeout: 300_000 } as const;
  return spawnSync(process.execPath, [path.join(ROOT, file), ...argv], options);
}

describe('a command of the project', () => {
  test.each(COMMANDS)('%s refuses an option that it does not have, and a word', (file) => {
    const [option, word] = [run(file, '--typo'), run(file, 'typo')];

    expect(option).toMatchObject({ status: 1, stdout: '', stderr: "error: unknown option '--typo'\n" });
    expect(word).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining('too many arguments') as string,
    });
  });

  test.each(COMMANDS)('%s says what it does, and does not do it', (file) => {
    expect(run(file, '--help')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^Usage: npm run .*\n\n\w.*\.\n/) as string,
    });
  });

  test.each([
    [['queue', '--engine', 'dynamodb'], '--engine'],
    [['queue', '--rounds', 'x'], '--rounds'],
    [['queue', '--retries', '101'], '--retries'],
    [['scale', '--shards', 'x'], '--shards'],
    [['scale', '--workers', '1,x'], '--workers'],
    [['locks', '--engine', 'dynamodb'], '--engine'],
    [['locks', '--rounds', 'x'], '--rounds'],
    [['cold-start', '--rounds', 'x'], '--rounds'],
    [['units', '--engine', 'dynamodb'], '--engine'],
  ])('the bench %j measures nothing else instead', (argv, option) => {
    const { status, stdout, stderr } = run('bench/main.ts', ...argv);

    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^error: option '${option} .*\\n$`));
  });
});
