/** A new project, made in an empty folder by `leasehold init` and by `npm create leasehold`, and then used. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { start } from './try-processes.ts';

export interface Tarballs {
  readonly leasehold: string;
  readonly create: string;
}

/** Both packages: the command's own, and the one that npm asks for. @returns what it saw */
export async function tryProjects(tarballs: Tarballs): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-projects-'));
  try {
    const [leasehold, create] = [tarballs.leasehold, tarballs.create].map((tarball) => {
      copyFileSync(tarball, path.join(folder, path.basename(tarball)));
      return `./${path.basename(tarball)}`;
    }) as [string, string];
    const begun = performance.now();
    run('npx', ['--yes', leasehold, 'init', 'app', '--yes'], folder);
    const app = path.join(folder, 'app');
    run('npm', ['test'], app);
    const greeting = await greetingOf(app);
    const seconds = ((performance.now() - begun) / 1000).toFixed(0);
    run('npm', ['run', 'types'], app);
    run('npm', ['run', 'synth'], app);
    const stack = JSON.parse(readFileSync(path.join(app, 'cdk.out/App.template.json'), 'utf8')) as {
      readonly Resources: object;
    };
    const packages = ['--package', leasehold, '--package', create];
    run('npm', ['exec', '--yes', ...packages, '--', 'create-leasehold', 'other', '--runner', 'vitest'], folder);
    run('npm', ['test'], path.join(folder, 'other'));
    const resources = Object.keys(stack.Resources).length;
    return `“${greeting}” and its tests after ${seconds} s, a stack of ${resources} resources; by npm create, with vitest`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns the first line that a task prints */
async function greetingOf(app: string): Promise<string> {
  // Any free port, because another engine may listen on the usual one.
  await using dev = start(app, ['node_modules/leasehold/api/command.js', 'dev', 'src/tasks.ts', '--port', '0']);
  const greeting = await dev.until(/^(Hello, .*)$/m);
  await dev.stop('SIGINT');
  return greeting;
}

/** As from a terminal: without the variables of the npm that runs this. */
function run(command: string, args: readonly string[], cwd: string): void {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (status !== 0)
    throw new Error(`${[command, ...args].join(' ')} ended with ${status ?? 'a signal'}:\n${stdout}${stderr}`);
}
