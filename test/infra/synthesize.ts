/** Templates for tests, without bundling: a template does not depend on the bundles' contents. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Annotations, App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { IConstruct } from 'constructs';
import featureFlags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { afterAll, onTestFinished, TestRunner, vi } from 'vitest';
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

/** For a test of a warning: the CDK also prints it. */
export function printNoWarning(): void {
  const printed = vi.spyOn(console, 'error').mockReturnValue(undefined);
  onTestFinished(() => {
    printed.mockRestore();
  });
}

/** A stack without the warning that nobody hears its alarms: the CDK prints each warning. */
export function newStack(app: IConstruct = newApp(), name = 'Theirs'): Stack {
  const stack = new Stack(app, name);
  Annotations.of(stack).acknowledgeWarning('leasehold:alarmTopic');
  return stack;
}

/** One queue in a user's own stack. */
export function synthesize(props: Partial<TaskWorkersProps> = {}, stack = newStack()): Synthesized {
  const workers = new TaskWorkers(stack, 'Media', { entry: ENTRY, queue: 'media', ...props });
  return { stack, workers, template: () => Template.fromStack(stack) };
}
