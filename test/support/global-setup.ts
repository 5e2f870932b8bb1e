/**
 * Runs once, before the first test file: checks Node, starts the engines, tells the tests where they are.
 */
import type { TestProject } from 'vitest/node';
import { startTestEngines } from './engines.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (project.vite.config.mode !== 'built') assertNode(process.versions.node);
  const engines = await startTestEngines({
    // A pipeline that quietly tests less than it claims is worse than one that fails.
    required: process.env.CI === 'true',
  });
  project.provide('dynamodbLocalEndpoint', engines.dynamodbLocal?.endpoint ?? null);
  project.provide('embeddedEndpoint', engines.embedded?.endpoint ?? null);
  project.provide('missingEngines', engines.missing);
  return () => engines.stop();
}

function assertNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 18)) {
    throw new Error(
      `the tests run TypeScript as it is, which needs Node 22.18 or newer, and this is ${version}: ` +
        'start them with npm test, which brings its own, or install a newer Node',
    );
  }
}
