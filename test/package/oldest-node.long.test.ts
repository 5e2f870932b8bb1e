/** The built package on the oldest Node that it promises: its entry points, its command, the conformance suite, the kit's guide. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startEngine } from '../../local/engine.ts';
import { nodeFromNpm } from '../support/node-from-npm.ts';
import { OLDEST_NODE } from '../../shared/core/environment.ts';
import { ROOT, codeBlocks, documents, outputBehind, programOf } from '../support/documents.ts';
import { attempt, copyConsumer, packPackage, pinned, run } from './packed.ts';

describe(`the package on Node ${OLDEST_NODE}`, () => {
  let packed: ReturnType<typeof packPackage>;
  let project: string;
  let bin: string;
  beforeAll(() => {
    packed = packPackage();
    bin = nodeFromNpm(OLDEST_NODE).folder;
    project = path.join(packed.folder, 'project');
    copyConsumer(project);
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
    run('npm', ['install', ...options, packed.tarball, ...pinned('zod')], { cwd: project, bin });
  });
  afterAll(() => {
    rmSync(packed.folder, { recursive: true, force: true });
  });

  test('is that version', () => {
    expect(run('node', ['--version'], { cwd: project, bin })).toMatch(new RegExp(`^v${OLDEST_NODE}\\.`));
  });

  test.each(['module.mjs', 'common.cjs'])('is imported by %s', (file) => {
    expect(run('node', [file], { cwd: project, bin })).not.toBe('');
  });

  test('runs a task by its command', async () => {
    const engine = await startEngine({ kind: 'embedded', isBare: true });
    onTestFinished(() => engine.stop());
    const leasehold = (...args: readonly string[]): string =>
      run('npx', ['--no-install', 'leasehold', ...args, '--endpoint', engine.endpoint], { cwd: project, bin });

    leasehold('up');
    leasehold('enqueue', 'greet', '{"name":"Ada"}', '--id', 'first');
    leasehold('work', '--entry', 'tasks.mjs', '--until-drained');

    expect(JSON.parse(leasehold('tasks', 'show', 'first', '--json'))).toMatchObject({
      state: 'done',
      result: 'hello Ada',
    });
  });

  test('says what to do about a module in TypeScript', () => {
    const { status, said } = attempt('npx', ['--no-install', 'leasehold', 'dev', 'greetings.ts'], {
      cwd: project,
      bin,
    });

    expect(status).not.toBe(0);
    expect(said).toContain('use Node 22.18 or later, or compile the module');
  });

  test('passes the conformance suite', () => {
    const vitest = path.join(ROOT, 'node_modules/vitest/vitest.mjs');
    const said = run('node', [vitest, 'run', '--mode', 'built', 'test/conformance'], { cwd: ROOT, bin });

    console.log(/^.*Tests .*$/m.exec(said)?.[0]);
    expect(said).toContain('passed');
  });

  const blocks = documents().flatMap(codeBlocks);
  const guides = ['docs/testing-your-tasks.md', 'docs/tasks.md'];
  const kit = blocks.filter(
    ({ document, marks, code }) => guides.includes(document) && marks.includes('run') && code.includes('createTestKit'),
  );

  test.each(kit)('prints what $place says', (block) => {
    const file = path.join(project, `${block.place.replace(/\W/g, '-')}.mjs`);
    writeFileSync(file, compiled(programOf(block)));

    expect(run('node', [file], { cwd: project, bin }).trimEnd()).toBe(outputBehind(block, blocks));
  });
});

function compiled(program: string): string {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  return ts.transpileModule(program, { compilerOptions }).outputText;
}
