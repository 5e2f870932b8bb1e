/**
 * TypeScript in documents: each block is compiled against what the package exports,
 * and those marked `ts run` are run, on the embedded engine.
 *
 * A reader is to imagine something around most blocks, a function of his own for instance. That stands in a comment right before the block:
 *
 *     <!-- given
 *     declare function render(text: string): Promise<Uint8Array>;
 *     -->
 *
 * with a line `…` where the block belongs, if that is not the end. A block ```text right behind one that is run is what it prints.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import type { CodeBlock } from '../support/documents.ts';
import { ROOT, codeBlocks, documents, outputBehind, programOf } from '../support/documents.ts';

const BETWEEN_BLOCKS = '\u0004';
const TABLE = 'leasehold';

/** Beside the documents, so that the package finds itself and its dependencies, and nowhere on the disk. */
function compile(programs: ReadonlyMap<string, string>): string[] {
  const read = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), (file) => ts.sys.readFile(file));
  const config = { ...(read.config as object), include: [] };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const host = ts.createCompilerHost(options);
  const readSource = host.getSourceFile.bind(host);
  host.getSourceFile = (file, version, ...rest) => {
    const text = programs.get(file);
    return text === undefined ? readSource(file, version, ...rest) : ts.createSourceFile(file, text, version, true);
  };
  const exists = host.fileExists.bind(host);
  host.fileExists = (file) => programs.has(file) || exists(file);
  const program = ts.createProgram({ rootNames: [...programs.keys()], options, host });
  return [...programs.keys()].flatMap((file) => {
    const source = program.getSourceFile(file);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.map(({ messageText, start = 0 }) => {
      const line = source?.text.slice(0, start).split('\n').length ?? 0;
      const said = ts.flattenDiagnosticMessageText(messageText, ' ');
      return `${path.relative(ROOT, file)}, line ${line} (${source?.text.split('\n')[line - 1]?.trim() ?? ''}): ${said}`;
    });
  });
}

/** `docs/timing.md:12` becomes a module beside that document; one whose first line names its file is that file, which others import. */
function moduleOf({ place, document, code }: CodeBlock): string {
  const [, named] = /^\/\/ ([\w-]+\.mts)\n/.exec(code) ?? [];
  return path.join(
    ROOT,
    named === undefined ? `${place.replace(':', '.')}.ts` : path.join(path.dirname(document), named),
  );
}

const blocks = documents().flatMap(codeBlocks);
const typescript = blocks.filter(({ language }) => ['ts', 'typescript'].includes(language));
const runnable = typescript.filter(({ marks }) => marks.includes('run'));

describe('code in documents', () => {
  test('compiles against what the package exports', () => {
    expect(compile(new Map(typescript.map((block) => [moduleOf(block), programOf(block)])))).toEqual([]);
  });

  test('is there, and some of it can be run', () => {
    expect(typescript.length).toBeGreaterThan(10);
    expect(runnable.length).toBeGreaterThan(5);
  });
});

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('code in documents that can be run', () => {
  let folder: string;
  beforeAll(async () => {
    mkdirSync(path.join(ROOT, '.leasehold'), { recursive: true });
    folder = mkdtempSync(path.join(ROOT, '.leasehold/documents-'));
    using leasehold = createLeasehold({ table: TABLE, endpoint: endpoint ?? '' });
    await leasehold.createTable();
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const byDocument = Map.groupBy(runnable, ({ document }) => document);
  test.each([...byDocument])('runs: %s', async (document, itsBlocks) => {
    const files = itsBlocks.map((block, index) => {
      const file = path.join(folder, `${path.basename(document)}.${index}.ts`);
      writeFileSync(file, programOf(block));
      return file;
    });

    const said = await runAll(files);

    expect(said.map((output) => output.trimEnd())).toEqual(itsBlocks.map((block) => outputBehind(block, blocks)));
  });

  /** As a program on AWS would find its table: by the SDK's own settings. */
  async function runAll(files: readonly string[]): Promise<string[]> {
    const program = `for (const file of ${JSON.stringify(files)}) { await import(file); console.log('${BETWEEN_BLOCKS}'); }`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        AWS_ENDPOINT_URL_DYNAMODB: endpoint ?? '',
        AWS_REGION: 'local',
        AWS_ACCESS_KEY_ID: 'local',
        AWS_SECRET_ACCESS_KEY: 'local',
      },
    });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    await once(child, 'close');
    expect(child.exitCode, err).toBe(0);
    return out.split(`${BETWEEN_BLOCKS}\n`).slice(0, -1);
  }
});
