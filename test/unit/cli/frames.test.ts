/** Which frames of a stack are shown as the user's own, and how. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { framesOf, ownStack, shortest } from '../../../cli/attempts/frames.ts';
import { packageFile } from '../../../shared/core/package-files.ts';

const here = path.resolve('tasks.ts');

test.each([
  ['the own one', `at run (${here}:7:42)`, { own: ['at run (tasks.ts:7:42)'] }],
  ['one without a name', `at ${here}:7:42`, { own: ['at tasks.ts:7:42'] }],
  ['one by its address', `at async run (${pathToFileURL(here).href}:7:42)`, { own: ['at async run (tasks.ts:7:42)'] }],
  ['one of a library', 'at ms (/app/node_modules/ms/index.js:1:2)', { libraries: 1 }],
  ['one of an installed Leasehold', 'at a (/app/node_modules/leasehold/dist/a.js:1:2)', { leasehold: 1 }],
  ['one of this Leasehold', `at a (${packageFile('shared/core/errors.ts')}:1:2)`, { leasehold: 1 }],
  ['one of Node', 'at listOnTimeout (node:internal/timers:605:17)', { node: 1 }],
  ['a line of prose', 'at noon', {}],
])('%s', (_what, line, { own = [], ...others }: Record<string, unknown>) => {
  const { own: shown, others: counted } = framesOf(
    `Error: at (/no/frame.ts:1:1)\n    ${line}`,
    'at (/no/frame.ts:1:1)',
  );

  expect(shown).toEqual(own);
  expect(counted).toEqual({ leasehold: 0, node: 0, libraries: 0, ...others });
});

test('shows at most six', () => {
  const lines = Array.from({ length: 7 }, (_, n) => `    at f${n} (${here}:${n}:1)`);

  expect(framesOf(`Error: m\n${lines.join('\n')}`, 'm').own.map((line) => line.slice(0, 5))).toEqual([
    'at f0',
    'at f1',
    'at f2',
    'at f3',
    'at f4',
    'at f5',
  ]);
});

test.each([
  ['src/tasks.ts', 'src/tasks.ts'],
  ['../other/tasks.ts', '../other/tasks.ts'],
  ['../../elsewhere/tasks.ts', path.resolve('../../elsewhere/tasks.ts')],
])('a file at %s is shown as %s', (place, text) => {
  expect(shortest(path.resolve(place))).toBe(text);
});

test('keeps the messages of an error and of its causes, with the own frames of each', () => {
  const [own, other] = [`    at run (${here}:7:42)`, '    at emit (node:events:508:28)'];

  expect(ownStack(['Error: two', 'lines', own, other, 'caused by Error: b', other].join('\n'))).toBe(
    [
      ...['Error: two', 'lines', '    at run (tasks.ts:7:42)', 'caused by Error: b'],
      'and 2 other frames (leasehold tasks show --json)',
    ].join('\n'),
  );
});
