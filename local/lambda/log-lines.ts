/**
 * Log output, line by line: what functions print, and the lines that Lambda itself writes around an invocation.
 */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** A line longer than this is passed on in pieces, so that a function cannot fill our memory. */
const LONGEST_LINE_CHARACTERS = 256 * 1024;

export function forEachLine(stream: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  stream.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = lines.pop() ?? '';
    lines.forEach((line) => onLine(line.replace(/\r$/, '')));
    if (rest.length > LONGEST_LINE_CHARACTERS) {
      onLine(rest);
      rest = '';
    }
  });
  stream.once('end', () => {
    if (rest !== '') onLine(rest);
  });
}

export function startLine(requestId: string): string {
  return `START RequestId: ${requestId} Version: $LATEST`;
}

export function endLine(requestId: string): string {
  return `END RequestId: ${requestId}`;
}

export interface InvocationReport {
  readonly durationMs: number;
  readonly memoryMb: number;
  /** Unknown for an environment that died. */
  readonly maxMemoryUsedMb: number | undefined;
  /** Only for the first invocation of an environment. */
  readonly initDurationMs: number | undefined;
  readonly timedOut: boolean;
}

/** @see https://docs.aws.amazon.com/lambda/latest/dg/nodejs-logging.html */
export function reportLine(requestId: string, report: InvocationReport): string {
  const { durationMs, memoryMb, maxMemoryUsedMb, initDurationMs, timedOut } = report;
  return [
    `REPORT RequestId: ${requestId}`,
    `Duration: ${durationMs.toFixed(2)} ms`,
    `Billed Duration: ${Math.ceil(durationMs + (initDurationMs ?? 0))} ms`,
    `Memory Size: ${memoryMb} MB`,
    ...(maxMemoryUsedMb === undefined ? [] : [`Max Memory Used: ${maxMemoryUsedMb} MB`]),
    ...(initDurationMs === undefined ? [] : [`Init Duration: ${initDurationMs.toFixed(2)} ms`]),
    ...(timedOut ? ['Status: timeout'] : []),
  ].join('\t');
}
