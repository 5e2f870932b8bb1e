/** Shortens stacks to the frames of the user's code, and counts the frames of Leasehold, Node and libraries. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { plural } from '../output.ts';
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
    const frame = frameIn(line);
    if (frame === undefined) continue;
    if (frame.whose === 'own') own.push(frame.text);
    else others[frame.whose]++;
  }
  return { own: own.slice(0, MOST_FRAMES), others };
}

/** A stack and its causes with the user's frames; the others are counted, and programs get them. */
export function ownStack(stack: string): string {
  const all = stack.split('\n').map((line) => ({ line, frame: frameIn(line) }));
  const kept = all.filter(({ frame }) => frame === undefined || frame.whose === 'own');
  const lines = kept.map(({ line, frame }) => (frame === undefined ? line : `    ${frame.text}`));
  const left = all.length - kept.length;
  return [...lines, ...(left === 0 ? [] : [`and ${plural(left, 'other frame')} (leasehold tasks show --json)`])].join(
    '\n',
  );
}

function frameIn(line: string): { readonly whose: 'own' | keyof Frames['others']; readonly text: string } | undefined {
  const { what, where } = FRAME.exec(line)?.groups ?? {};
  if (where === undefined) return undefined;
  const file = where.startsWith('file://') ? pathOf(where) : where;
  const text = what === undefined ? `at ${shortest(file)}` : `at ${what} (${shortest(file)})`;
  if (file.startsWith('node:')) return { whose: 'node', text };
  if (isPackageFile(file) || file.includes('/node_modules/leasehold/')) return { whose: 'leasehold', text };
  return { whose: file.includes('/node_modules/') ? 'libraries' : 'own', text };
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
