/**
 * The final report of a run, in addition to vitest's own: the command that repeats each failure, and the checks that could not run here.
 */
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';

export class RunReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = [...repeatLines(modules), ...skippedLines(modules)];
    if (lines.length > 0) process.stdout.write(`\n${lines.join('\n')}\n`);
  }
}

/** The command for each failed test, or for its file when that did not come as far as its tests. */
function repeatLines(modules: readonly TestModule[]): string[] {
  const commands = modules.flatMap((module) => {
    const failed = [...module.children.allTests('failed')];
    if (failed.length > 0) return failed.map((test) => repeatCommand(module.relativeModuleId, test.fullName));
    return module.ok() ? [] : [repeatCommand(module.relativeModuleId)];
  });
  return commands.length === 0 ? [] : ['To repeat what failed:', ...commands.map((command) => `  ${command}`)];
}

/** @param name as vitest prints it; without one, the whole file */
export function repeatCommand(file: string, name?: string): string {
  const place = `npx vitest run ${file}`;
  if (name === undefined) return place;
  // Vitest joins the names of suites by a space where it looks for a pattern, and by an arrow where it prints.
  const pattern = name.replaceAll(' > ', ' ').replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  return `${place} -t '${pattern.replaceAll("'", String.raw`'\''`)}'`;
}

/** Suites that were left out because this machine has not what they need, by what that is. */
function skippedLines(modules: readonly TestModule[]): string[] {
  const missing = modules[0]?.project.getProvidedContext().missingEngines ?? [];
  return missing.flatMap(({ kind, needs }) => {
    const suites = modules.flatMap((module) => [...module.children.suites()].filter((suite) => isLeftOut(suite, kind)));
    if (suites.length === 0) return [];
    const tests = suites.reduce((sum, suite) => sum + countTests(suite), 0);
    return [
      `Skipped: ${suites.length} suites with ${tests} tests, because ${needs}`,
      ...suites.map((suite) => `  ${suite.module.relativeModuleId}: ${suite.name}`),
    ];
  });
}

/** A suite for one engine ends in its name; all others run on the embedded one. */
function isLeftOut(suite: TestSuite, kind: string): boolean {
  if (suite.state() !== 'skipped') return false;
  return kind === 'embedded' ? !suite.name.endsWith(' on dynamodb-local') : suite.name.endsWith(` on ${kind}`);
}

function countTests(suite: TestSuite): number {
  return [...suite.children.allTests()].filter((test: TestCase) => test.result().state === 'skipped').length;
}
