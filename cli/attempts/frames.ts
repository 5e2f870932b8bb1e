/** Shortens stacks to the frames of the user's code, and counts the frames of Leasehold, Node and libraries. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isPackageFile } from '../../shared/core/package-files.ts';

interface Frames {
  /** `at helper (src/tasks.ts:7:42)`, paths relative to the working directory. */
  readonly own: readonly string[];
  /** The number of other frames, by owner. */
  readonly others: Readonly<Record<'leasehold' | 'node' | 'libraries', number>>;
}

const MOST_FRAMES = 6;
const FRAME = /^\s+at (?:(?<what>.*?) \()?(?<where>(?:file:\/\/|node:|\/|[A-Za-z]:\\)[^)]*?:\d+:\d+)\)?$/;

/** Excludes the error's own message, which may have lines that look like frames. */
export function framesOf(stack: string, message: string): Frames {
  const after = stack.indexOf(message);
  const lines = (after === -1 ? stack : stack.slice(after + message.length)).split('\n');
  const own: string[] = [];
  const others = { leasehold: 0, node: 0, libraries: 0 };
  for (const line of lines) {
    const { what, where } = FRAME.exec(line)?.groups ?? {};
    if (where === undefined) continue;
    const file = where.startsWith('file://') ? pathOf(where) : where;
    if (file.startsWith('node:')) others.node++;
    else if (isPackageFile(file) || file.includes('/node_modules/leasehold/')) others.leasehold++;
    else if (file.includes('/node_modules/')) others.libraries++;
    else own.push(what === undefined ? `at ${shortest(file)}` : `at ${what} (${shortest(file)})`);
  }
  return { own: own.slice(0, MOST_FRAMES), others };
}

function pathOf(where: string): string {
  const [, url = '', place = ''] = /^(.*?)((?::\d+){2})$/.exec(where) ?? [];
  try {
    return fileURLToPath(url) + place;
  } catch {
    return where;
  }
}

/** Returns a path as a user would type it. */
export function shortest(file: string): string {
  const relative = path.relative(process.cwd(), file);
  return relative.startsWith(`..${path.sep}..`) ? file : relative;
}
