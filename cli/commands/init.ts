/** `leasehold init`: a new project with a task, a lock, a schedule, tests and a stack. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Command, Option } from 'commander';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { packageFile } from '../../shared/core/package-files.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { CommandError, EXIT } from '../exit.ts';
import type { Wanted } from '../init/project.ts';
import { RUNNERS, originOf, writeProject } from '../init/project.ts';
import { printable } from '../output.ts';

interface Options {
  readonly runner?: Wanted['runner'];
  readonly yes?: boolean;
  readonly install: boolean;
}

/** Without questions, and without news of npm itself. */
const INSTALL = ['install', '--no-audit', '--no-fund', '--no-update-notifier', '--prefer-offline', '--loglevel=error'];

export function initCommand(bind: Bind): Command {
  const command = new Command('init')
    .summary('create a project')
    .description(
      'Creates a project in TypeScript: a task with a schema, a lock, a schedule, tests, and a CDK stack. ' +
        'Then installs its packages with npm.',
    )
    .argument('[folder]', 'a new folder, or one without these files', '.')
    .addOption(new Option('--runner <name>', "the test runner; node is Node's own (default: asks)").choices(RUNNERS))
    .option('--yes', 'ask nothing: the runner is node')
    .option('--no-install', 'write the files only')
    .addHelpText('after', HELP);
  return bind<Options>(command, init);
}

async function init(context: Context, { runner, yes = false, install }: Options, folder = '.'): Promise<ExitCode> {
  if (process.features.typescript === false)
    throw new ConfigurationError(
      `the project is in TypeScript, which Node runs from 22.18 on; this is Node ${process.versions.node}: ` +
        'install a current one from https://nodejs.org',
    );
  const origin = originOf(packageFile(''));
  const wanted = {
    folder: path.resolve(folder),
    runner: runner ?? (yes ? 'node' : await askForRunner(context)),
    origin,
  };
  writeProject(wanted);
  if (install) await installPackages(context, wanted.folder);
  context.output.answer({ folder: wanted.folder, runner: wanted.runner, installed: install }, () =>
    [
      `created ${printable(wanted.folder)}: a task, a lock, a schedule, tests and a stack`,
      ...(folder === '.' ? [] : [`  cd ${printable(folder)}`]),
      ...(install ? [] : ['  npm install']),
      '  npm run dev       # runs the tasks on this machine',
      '  npm test',
      '  npm run deploy    # to your AWS account',
    ].join('\n'),
  );
  return EXIT.done;
}

/** Returns Node's own if there is nobody to ask. */
async function askForRunner({ stdin, output }: Context): Promise<Wanted['runner']> {
  if (!stdin.isTTY || !output.err.isTTY) return 'node';
  const prompt = createInterface({ input: stdin, output: output.err });
  try {
    const typed = (await prompt.question(`Test runner, ${RUNNERS.join(' or ')} (node): `)).trim();
    const chosen = typed === '' ? 'node' : RUNNERS.find((name) => name === typed);
    if (chosen === undefined)
      throw new ConfigurationError(`the test runner is ${RUNNERS.join(' or ')}, and not ${typed}; nothing was written`);
    return chosen;
  } finally {
    prompt.close();
  }
}

async function installPackages({ output, environment }: Context, cwd: string): Promise<void> {
  output.note('installing packages…');
  const npm = spawn('npm', INSTALL, {
    cwd,
    env: { ...environment },
    // Standard output is for the command's answer.
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  const [code] = (await once(npm, 'close')) as [number | null];
  if (code !== 0)
    throw new CommandError(
      EXIT.failed,
      `the files are written, and npm install failed with ${code ?? 'a signal'}: repeat it in ${cwd}`,
    );
}

const HELP = `
Examples:
  $ leasehold init shop            # asks for the test runner
  $ leasehold init shop --yes`;
