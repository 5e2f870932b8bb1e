/** `leasehold callbacks`: answers what a durable task waits for. */
import { Command } from 'commander';
import { defined } from '../../shared/core/defined.ts';
import { name } from '../arguments.ts';
import type { AuditOptions } from '../confirm.ts';
import { byOption, operatorOf, reasonOption } from '../confirm.ts';
import type { Bind, Context } from '../context.ts';
import { refused } from '../exit.ts';
import type { CallbackFailure } from '../../shared/tasks/durable/callbacks.ts';

interface FailOptions extends AuditOptions, Pick<CallbackFailure, 'name' | 'data'> {}

export function callbacksCommand(bind: Bind): Command {
  const callbacks = new Command('callbacks')
    .summary('answer what durable tasks wait for')
    .description('Answers callbacks of durable tasks by their ids.');
  const succeed = new Command('succeed')
    .argument('<callback>', 'its id', name)
    .argument('[text]', 'the result, as the text that the code gets')
    .description('Answers with a result. The task continues at once.');
  const fail = new Command('fail')
    .argument('<callback>', 'its id', name)
    .argument('[message]', 'the message of the error that the code gets')
    .option('--name <name>', 'the name of that error', name)
    .option('--data <text>', 'what else the code gets')
    .description('Answers with an error. The task continues at once.');
  const heartbeat = new Command('heartbeat')
    .argument('<callback>', 'its id', name)
    .description("Restarts the callback's heartbeat timeout.");
  callbacks.addCommand(bind<AuditOptions>(recorded(succeed), answerWithResult));
  callbacks.addCommand(bind<FailOptions>(recorded(fail), answerWithError));
  callbacks.addCommand(bind(heartbeat, beat));
  return callbacks.addHelpText('after', HELP);
}

function recorded(command: Command): Command {
  return command.addOption(reasonOption('answered by hand')).addOption(byOption());
}

async function answerWithResult(context: Context, options: AuditOptions, id: string, text?: string): Promise<void> {
  using connection = await context.connect();
  const input = { callbackId: id, ...defined({ result: text }) };
  tell(context, await connection.operations.execute('callback.succeed', input, operatorOf(options)));
}

async function answerWithError(context: Context, options: FailOptions, id: string, message?: string): Promise<void> {
  using connection = await context.connect();
  const failure: CallbackFailure = defined({ name: options.name, message, data: options.data });
  tell(context, await connection.operations.execute('callback.fail', { callbackId: id, failure }, operatorOf(options)));
}

async function beat(context: Context, _: object, id: string): Promise<void> {
  using connection = await context.connect();
  tell(context, await connection.callbacks.heartbeat(id));
}

function tell({ output }: Context, answered: 'accepted' | 'over'): void {
  if (answered === 'over')
    throw refused('the callback is over: it was answered before, has timed out, or its task has ended');
  output.answer({ answered }, () => answered);
}

const HELP = `
Examples:
  $ leasehold callbacks succeed WyJkZWZhdWx0Il0 '{"approved":true}'
  $ leasehold callbacks fail WyJkZWZhdWx0Il0 'out of stock' --name OutOfStock`;
