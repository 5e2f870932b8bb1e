/** Marks output of task code on a terminal with the task's name and short id: `greet 9c2f │ hello`. */
import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { CurrentTask } from '../../shared/tasks/task/task-scope.ts';
import { currentTask } from '../../shared/tasks/task/task-scope.ts';
import { printable } from '../output.ts';

const LONGEST_ID = 12;
const SHORT_ID = 4;

/** Returns the end of a long id, which distinguishes nearby lines; generated ids begin with the time. */
function shortId(id: string): string {
  return printable(id.length > LONGEST_ID ? id.slice(-SHORT_ID) : id);
}

/** The mark of the task whose code is running; empty outside of task code. */
export function prefixOf(stream: NodeJS.WriteStream): string {
  const task = currentTask();
  return task === undefined ? '' : styleText('dim', markOf(task), { stream });
}

function markOf({ name, id }: CurrentTask): string {
  return `${printable(name)} ${shortId(id)} │ `;
}

/** Makes the global console mark what task code prints, on streams that are terminals. */
export function prefixConsole({ stdout, stderr }: Pick<NodeJS.Process, 'stdout' | 'stderr'>): void {
  const marked = new Console({ stdout: prefixed(stdout), stderr: prefixed(stderr), colorMode: stdout.isTTY });
  const methods = Object.entries(marked).filter(([, member]) => typeof member === 'function');
  Object.assign(console, Object.fromEntries(methods));
}

/** A console writes whole lines, one call after the other, so each is marked where it is printed. */
function prefixed(stream: NodeJS.WriteStream): NodeJS.WritableStream {
  if (!stream.isTTY) return stream;
  return new Writable({
    decodeStrings: false,
    // Called within the call of the console, and so within the task.
    write(text: string, _encoding, written) {
      const prefix = prefixOf(stream);
      stream.write(prefix === '' ? text : text.replace(/^(?=.)/gm, prefix));
      written();
    },
  });
}
