/**
 * `npm run picture`: runs `npm start`, and draws what it showed as `docs/start.svg`.
 *
 * Every line of the picture is one that the run printed, cut to its width: what it began with, the last frame of its live display before a
 * worker was killed, the first one after, and the summary. It is text, in the colours of a terminal, for light and dark pages.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';

const ROOT = path.resolve(import.meta.dirname, '..');
const PICTURE = path.join(ROOT, 'docs/start.svg');
/** Wide enough that the display never folds a line; the picture is cut where its own width ends. */
const TERMINAL_COLUMNS = 200;
const COLUMNS = 104;
const CHARACTER_WIDTH = 7.9;
const LINE_HEIGHT = 18;
const MARGIN = 16;
/** What the live display looks at: the program is to believe that a terminal reads it. */
const TERMINAL = `data:text/javascript,Object.assign(process.stdout, { isTTY: true, columns: ${TERMINAL_COLUMNS}, rows: 60 })`;

/** The display repaints between these two. */
const REPAINT = /\x1b\[\?2026h(?<painted>.*?)\x1b\[\?2026l/gs;
/** The cursor that is hidden and shown, and the like. */
const MODE = /\x1b\[\?\d+[hl]/g;
const ERASE = /^(?:\x1b\[2K\x1b\[1A)*\x1b\[2K\x1b\[G/;
const STYLE = /\x1b\[(\d+)m/;
const CLASSES: Readonly<Record<string, string>> = { 2: 'dim', 31: 'red', 32: 'green', 33: 'yellow' };

new Command('npm run picture').description('Draws a run of npm start as docs/start.svg.').parse();
const output = await run();
const svg = draw(transcript(output));
writeFileSync(PICTURE, svg);
console.log(`${path.relative(ROOT, PICTURE)}: ${svg.split('\n').length} lines of a run that kept its promise`);

async function run(): Promise<string> {
  const child = spawn(process.execPath, ['--import', TERMINAL, 'examples/demonstration/start.ts'], {
    cwd: ROOT,
    env: { ...process.env, FORCE_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Error(`npm start ended with ${child.exitCode}: no picture was drawn\n${text}`);
  return text;
}

function transcript(text: string): string[] {
  const painted = [...text.matchAll(REPAINT)].map(({ groups }) => (groups?.painted ?? '').replace(ERASE, ''));
  const isFrame = (part: string): boolean => /\d+\/\d+ done/.test(part);
  const kill = painted.findIndex((part) => part.includes('with SIGKILL'));
  if (kill === -1) throw new Error('the run killed no worker: no picture was drawn');
  const notes = painted.slice(0, painted.findIndex(isFrame));
  const before = painted.slice(0, kill).findLast(isFrame) ?? '';
  const after = painted.slice(kill).find((part) => isFrame(part) && part.includes('killed')) ?? '';
  const summary = text.slice(text.lastIndexOf('\x1b[?2026l')).replaceAll(MODE, '');
  return [
    '$ npm start',
    ...notes.flatMap(linesOf).map(withoutToken),
    ...['', ...linesOf(before), '', ...linesOf(painted[kill] ?? ''), '', ...linesOf(after), ''],
    ...summaryLines(summary),
  ];
}

function linesOf(part: string): string[] {
  return part.split('\n').filter((line) => line.replaceAll(new RegExp(STYLE, 'g'), '').trim() !== '');
}

/** An address that lets a browser in is over with the run; it need not look like a secret that was given away. */
function withoutToken(line: string): string {
  return line.replace(/token=\S+/, 'token=…');
}

/** The table, without its rules, and without what each worker settled: the frames show those. */
function summaryLines(table: string): string[] {
  return linesOf(table).flatMap((line) => {
    const [, label, value] = /^│ (\S.*?) *│ (\S.*?) *│$/.exec(line) ?? [];
    if (label?.startsWith('settled by') === true) return [];
    if (label !== undefined && value !== undefined) return [`  ${label.padEnd(44)}${value}`];
    return /^[┌├└│]/.test(line) ? [] : ['', line];
  });
}

function draw(lines: readonly string[]): string {
  const width = Math.ceil(COLUMNS * CHARACTER_WIDTH + 2 * MARGIN);
  const height = lines.length * LINE_HEIGHT + 2 * MARGIN;
  const texts = lines.flatMap((line, index) =>
    line.trim() === ''
      ? []
      : [`<text x="${MARGIN}" y="${MARGIN + (index + 1) * LINE_HEIGHT - 5}">${runs(line)}</text>`],
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    '<title>A run of npm start</title>',
    '<style>',
    'rect { fill: #f6f8fa } text { fill: #1f2328; font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre }',
    '.green { fill: #1a7f37 } .red { fill: #cf222e } .yellow { fill: #9a6700 } .dim { fill: #818b98 }',
    '@media (prefers-color-scheme: dark) {',
    'rect { fill: #0d1117 } text { fill: #e6edf3 }',
    '.green { fill: #3fb950 } .red { fill: #f85149 } .yellow { fill: #d29922 } .dim { fill: #7d8590 }',
    '}',
    '</style>',
    `<rect width="${width}" height="${height}" rx="8"/>`,
    ...texts,
    '</svg>',
    '',
  ].join('\n');
}

/** A line as text with classes for its colours, cut where a terminal of that width would. */
function runs(line: string): string {
  let left = COLUMNS;
  let style: string | undefined;
  return line
    .split(new RegExp(STYLE, 'g'))
    .map((part, index) => {
      if (index % 2 === 1) {
        style = CLASSES[part];
        return '';
      }
      const text = escape(part.slice(0, left));
      left = Math.max(0, left - part.length);
      return style === undefined || text === '' ? text : `<tspan class="${style}">${text}</tspan>`;
    })
    .join('');
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
