/**
 * Assertions of `npm run synth` about the example deployment, in addition to cdk-nag: each alarm has a runbook, each runbook has an alarm,
 * and functions are traced only on request.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Stack } from 'aws-cdk-lib';
import { CfnAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import type { IConstruct } from 'constructs';

const RUNBOOKS = path.join(import.meta.dirname, '../docs/operating.md');

/** Fails the synthesis of a stack that breaks a promise. */
export function assertPromised(stack: Stack, { isTraced }: { readonly isTraced: boolean }): void {
  stack.node.addValidation({ validate: () => [...wrongAlarms(stack), ...(isTraced ? [] : traced(stack))] });
}

function wrongAlarms(stack: Stack): string[] {
  const runbooks = [...readFileSync(RUNBOOKS, 'utf8').matchAll(/^## Runbook: (\S+)$/gm)].map(([, name = '']) => name);
  const linked = all(stack, CfnAlarm).map(({ alarmDescription = '' }) => alarmDescription.split('#runbook-')[1] ?? '');
  return [
    ...runbooks.filter((name) => !linked.includes(name)).map((name) => `no alarm leads to the runbook ${name}`),
    ...linked.filter((name) => !runbooks.includes(name)).map((name) => `an alarm leads to no runbook: ${name}`),
  ];
}

function traced(stack: Stack): string[] {
  const isActive = ({ tracingConfig }: CfnFunction): boolean =>
    (Stack.of(stack).resolve(tracingConfig) as { readonly mode?: string } | undefined)?.mode === 'Active';
  return all(stack, CfnFunction)
    .filter(isActive)
    .map(({ node }) => `${node.path} is traced by X-Ray, and nobody asked for it`);
}

function all<Kind extends IConstruct>(stack: Stack, kind: abstract new (...args: never[]) => Kind): Kind[] {
  return stack.node.findAll().filter((one): one is Kind => one instanceof kind);
}
