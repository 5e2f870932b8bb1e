/** `leasehold completion`: a script for the user's shell, generated from the tree of commands, so it is never out of date. */
import { Argument, Command } from 'commander';
import { everyCommand } from '../command-tree.ts';
import type { Bind } from '../context.ts';

const SHELLS = ['bash', 'zsh'] as const;

export function completionCommand(bind: Bind, program: Command): Command {
  const command = new Command('completion')
    .summary('print a completion script for your shell')
    .description('Prints a script that teaches your shell the commands and their options.')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .addHelpText('after', HELP);
  return bind(command, ({ output }, _options, shell) => {
    output.out.write(shell === 'bash' ? bashScript(program) : zshScript(program));
    return Promise.resolve();
  });
}

/** Words that may follow a path of commands: ` locks list` is followed by its options. */
interface Step {
  readonly path: string;
  readonly words: readonly string[];
}

function stepsOf(program: Command): readonly Step[] {
  const globals = optionsOf(program);
  return everyCommand(program).map((command) => {
    const own = command === program ? [] : optionsOf(command);
    const subcommands = command.commands.map((subcommand) => subcommand.name());
    const choices = command.registeredArguments.flatMap((argument) => argument.argChoices ?? []);
    return { path: pathOf(command, program), words: [...subcommands, ...choices, ...own, ...globals, '--help'] };
  });
}

function optionsOf(command: Command): readonly string[] {
  return command.options.flatMap(({ long }) => long ?? []);
}

function pathOf(command: Command, program: Command): string {
  return command === program || command.parent === null ? '' : `${pathOf(command.parent, program)} ${command.name()}`;
}

function bashScript(program: Command): string {
  return `# leasehold completion for bash
_leasehold() {
  local current=\${COMP_WORDS[COMP_CWORD]} at='' candidates='' word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $word == -- ]]; then
      COMPREPLY=($(compgen -c -- "$current") $(compgen -f -- "$current"))
      return
    fi
    case "$at $word" in
      ${pathsPattern(program)}) at="$at $word" ;;
    esac
  done
  case $at in
${stepCases(program)}
  esac
  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
}
complete -o default -F _leasehold leasehold
`;
}

function zshScript(program: Command): string {
  return `#compdef leasehold
# leasehold completion for zsh
_leasehold() {
  local at='' candidates='' i
  for ((i = 2; i < CURRENT; i++)); do
    if [[ $words[i] == -- ]]; then
      words=("\${(@)words[i+1,-1]}")
      ((CURRENT -= i))
      _normal
      return
    fi
    case "$at $words[i]" in
      ${pathsPattern(program)}) at="$at $words[i]" ;;
    esac
  done
  case $at in
${stepCases(program)}
  esac
  compadd -- \${=candidates} || _files
}
compdef _leasehold leasehold
`;
}

function pathsPattern(program: Command): string {
  return stepsOf(program)
    .filter(({ path }) => path !== '')
    .map(({ path }) => `'${path}'`)
    .join(' | ');
}

function stepCases(program: Command): string {
  return stepsOf(program)
    .map(({ path, words }) => `    '${path}') candidates='${words.join(' ')}' ;;`)
    .join('\n');
}

const HELP = `
Examples:
  $ source <(leasehold completion bash)                                   # in ~/.bashrc
  $ leasehold completion zsh > "\${fpath[1]}/_leasehold"                   # then start a new zsh`;
