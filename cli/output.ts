/**
 * Command output: tables and sentences, or one JSON value with `--json`.
 * Names, payloads and error texts are untrusted, so every character that could control a terminal is escaped.
 */
import { styleText } from 'node:util';
import Table from 'cli-table3';
import { DEFAULT_QUEUE } from '../shared/tasks/task/task.ts';

export type Style = Parameters<typeof styleText>[0];

/** Any value with a JSON form. Undefined members are left out. */
export type Printable = object | string | number | boolean | null;

/** Sets become lists, and numbers beyond JavaScript's range become digits. */
function asJson(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value instanceof Set ? [...(value as ReadonlySet<unknown>)] : value;
}

export class Output {
  readonly isJson: boolean;
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;

  constructor(options: {
    readonly isJson: boolean;
    readonly out: NodeJS.WriteStream;
    readonly err: NodeJS.WriteStream;
  }) {
    this.isJson = options.isJson;
    this.out = options.out;
    this.err = options.err;
  }

  /** Prints a command's answer: `value` with `--json`, otherwise `text`. */
  answer(value: Printable, text: () => string): void {
    // These characters occur only inside strings, where JSON allows escapes.
    this.line(this.isJson ? printable(JSON.stringify(value, asJson)) : text());
  }

  line(text: string): void {
    this.out.write(`${text}\n`);
  }

  /** Prints a note in addition to the answer, on standard error. */
  note(text: string): void {
    if (!this.isJson) this.err.write(`${text}\n`);
  }

  /** Coloured if standard output is a terminal with colours. */
  style(style: Style, text: string): string {
    return styleText(style, text, { stream: this.out });
  }

  /** @param more for programs only */
  error(message: string, exitCode: number, more: object = {}): void {
    if (this.isJson) this.err.write(`${printable(JSON.stringify({ error: message, exitCode, ...more }))}\n`);
    else this.err.write(`${styleText('red', 'error:', { stream: this.err })} ${printable(message)}\n`);
  }
}

const EDGES = ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'];
const RULES = ['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'];
const NO_LINES = Object.fromEntries([...EDGES, ...RULES].map((part) => [part, '']));

/** Formats aligned columns without lines, which can be searched with grep. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    head: head.map((title) => styleText('bold', title.toUpperCase())),
    chars: { ...NO_LINES, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  table.push(...rows.map((row) => [...row]));
  return table.toString().replaceAll(/(?<![^\S\n])[^\S\n]+$/gm, '');
}

/** Formats the names and values of one object, one per line. */
export function factsOf(facts: readonly (readonly [string, string | undefined])[]): string {
  const known = facts.filter((fact): fact is readonly [string, string] => fact[1] !== undefined);
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** Escapes control characters, and characters that reverse the text direction. */
export function printable(text: string): string {
  return text
    .toWellFormed()
    .replace(STEERING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The same of a text of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

const STEERING = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Truncates to a maximum length, with an ellipsis. */
export function shortened(text: string, limit: number): string {
  const safe = printable(text);
  return safe.length > limit ? `${safe.slice(0, limit - 1)}…` : safe;
}

/** Formats a duration with two digits. */
export function span(ms: number): string {
  const seconds = Math.abs(ms) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)}s`;
  if (seconds < 120) return `${Math.round(seconds)}s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)}h` : `${Math.round(seconds / 86_400)}d`;
}

/** `12s ago`, or `in 3m`. */
export function relative(at: number, now: number): string {
  return at <= now ? `${span(now - at)} ago` : `in ${span(at - now)}`;
}

export function moment(at: number): string {
  return new Date(at).toISOString();
}

/** Formats when a session's lease ends. */
export function untilText(until: number | null, now: number): string {
  return until === null ? 'it is destroyed: it has no TTL' : `${relative(until, now)}, unless it is renewed`;
}

/** Formats a time, and how long ago it was. */
export function momentAndAge(at: number, now: number): string {
  return `${moment(at)} (${relative(at, now)})`;
}

export function plural(count: number, singular: string, several = `${singular}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? singular : several}`;
}

/** Formats a count that stopped at a limit and may be too small. */
export function counted(count: number, more: boolean): string {
  return `${count.toLocaleString('en-US')}${more && count > 0 ? ' or more' : ''}`;
}

/** Quotes a text so that a shell reads it as one word. */
export function shellWord(text: string): string {
  const safe = printable(text);
  return /^[\w./:@%+=,-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", String.raw`'\''`)}'`;
}

/** As a part of a command, if it is needed. */
export function queueFlag(queue: string): string {
  return queue === DEFAULT_QUEUE ? '' : ` --queue ${shellWord(queue)}`;
}
