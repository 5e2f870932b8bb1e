import { expect, test } from 'vitest';
import { runHere, spawnCommand } from '../support/command.ts';

test('starts an engine with the table, which other commands use until it is interrupted', async () => {
  const engine = spawnCommand({}, ['engine', '--port', '0']);
  await engine.said(/LEASEHOLD_ENDPOINT=\S+/);
  const [, endpoint = ''] = /LEASEHOLD_ENDPOINT=(\S+)/.exec(engine.out()) ?? [];

  expect(await runHere(['--endpoint', endpoint, 'enqueue', 'greet', '1', '--id', 'g'])).toMatchObject({ exitCode: 0 });
  expect((await runHere(['--endpoint', endpoint, 'tasks', 'show', 'g'])).out).toContain('greet');

  engine.process.kill('SIGINT');
  expect(await engine.ended).toMatchObject({ exitCode: 0, err: '' });
});
