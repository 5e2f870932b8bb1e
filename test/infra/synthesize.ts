/** Templates for tests, without bundling: a template does not depend on the bundles' contents. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import featureFlags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { afterAll } from 'vitest';
import type { TaskWorkersProps } from '../../infra/task-workers-props.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';

const scratch = mkdtempSync(path.join(tmpdir(), 'leasehold-infra-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

export const ENTRY = path.join(import.meta.dirname, 'fixtures', 'tasks.ts');

/** The CDK validates each template with its own rules: three quarters of the time of a template, so one file does it for all. */
export const CDK_RULES = '@aws-cdk/core:validateAgainstDefaultRules';

export function newApp(context: Record<string, unknown> = {}): App {
  return new App({
    outdir: mkdtempSync(path.join(scratch, 'app-')),
    context: { ...featureFlags, [CDK_RULES]: false, 'aws:cdk:bundling-stacks': [], ...context },
  });
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
