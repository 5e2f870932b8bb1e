/** Templates for tests, without bundling: a template does not depend on the bundles' contents. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import featureFlags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { afterAll, onTestFinished, TestRunner } from 'vitest';
import type { TaskWorkersProps } from '../../infra/task-workers-props.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';

export const ENTRY = path.join(import.meta.dirname, 'fixtures', 'tasks.ts');

/** The CDK validates each template with its own rules: three quarters of the time of a template, so one file does it for all. */
export const CDK_RULES = '@aws-cdk/core:validateAgainstDefaultRules';

export function newApp(context: Record<string, unknown> = {}): App {
  return new App({
    outdir: newFolder(),
    context: { ...featureFlags, [CDK_RULES]: false, 'aws:cdk:bundling-stacks': [], ...context },
  });
}

/** Removed with the test or, if made while a file's tests are collected, with the file: files of one process share this module. */
function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-infra-'));
  const remove = (): void => {
    rmSync(folder, { recursive: true, force: true });
  };
  if (TestRunner.getCurrentTest() === undefined) afterAll(remove);
  else onTestFinished(remove);
  return folder;
}

interface Synthesized {
  readonly stack: Stack;
  readonly workers: TaskWorkers;
  /** Ends the construction. */
  template(): Template;
}

/** One queue in a user's own stack. */
export function synthesize(props: Partial<TaskWorkersProps> = {}): Synthesized {
  const stack = new Stack(newApp(), 'Theirs');
  const workers = new TaskWorkers(stack, 'Media', { entry: ENTRY, queue: 'media', ...props });
  return { stack, workers, template: () => Template.fromStack(stack) };
}
