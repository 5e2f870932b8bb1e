/** The bundles themselves: what Lambda will load. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ENV } from '../../functions/env.ts';
import { LeaseholdStack } from '../../infra/stack.ts';
import { ENTRY, newApp } from './synthesize.ts';

const BUNDLING_TIMEOUT_MS = 60_000;

interface LambdaResource {
  readonly Type: string;
  readonly Properties: { readonly Description: string; readonly Code: { readonly S3Key: string } };
}

/** Folders of the bundles. */
function bundle(): Record<'worker' | 'dispatcher' | 'waker', string> {
  const app = newApp({ 'aws:cdk:bundling-stacks': ['**'] });
  new LeaseholdStack(app, 'Leasehold', { workers: { entry: ENTRY, wakeOnEnqueue: true } });
  app.synth();
  const template = JSON.parse(readFileSync(path.join(app.outdir, 'Leasehold.template.json'), 'utf8')) as {
    Resources: Record<string, LambdaResource>;
  };
  const folderOf = (verb: string): string => {
    const found = Object.values(template.Resources).find(
      ({ Type, Properties }) => Type === 'AWS::Lambda::Function' && Properties.Description.startsWith(verb),
    );
    return path.join(app.outdir, `asset.${path.basename(found!.Properties.Code.S3Key, '.zip')}`);
  };
  return { worker: folderOf('Runs'), dispatcher: folderOf('Invokes'), waker: folderOf('Wakes') };
}

function load(folder: string, env: Record<string, string>): ReturnType<typeof spawnSync> {
  const script = `const { handler } = await import(${JSON.stringify(path.join(folder, 'index.mjs'))}); console.log(typeof handler);`;
  const args = ['--enable-source-maps', '--input-type=module', '--eval', script];
  return spawnSync(process.execPath, args, { env: { AWS_REGION: 'eu-west-1', ...env }, encoding: 'utf8' });
}

describe('the bundles', () => {
  let bundles: ReturnType<typeof bundle>;
  beforeAll(() => {
    bundles = bundle();
  }, BUNDLING_TIMEOUT_MS);

  test.each(['worker', 'dispatcher', 'waker'] as const)('of the %s loads by itself and exports a handler', (which) => {
    const { stdout, stderr } = load(bundles[which], { [ENV.table]: 'table', [ENV.workerFunction]: 'worker' });

    expect({ stdout, stderr }).toEqual({ stdout: 'function\n', stderr: '' });
  });

  test('keeps the names of errors, and shows where in the source they come from', () => {
    const { stderr } = load(bundles.worker, {});

    expect(stderr).toMatch(/ConfigurationError: LEASEHOLD_TABLE is not set/);
    expect(stderr).toMatch(/functions\/env\.ts:\d+/);
  });

  test('come out the same twice, so that nothing unchanged is deployed', { timeout: BUNDLING_TIMEOUT_MS }, () => {
    const again = bundle();

    expect(path.basename(again.worker)).toBe(path.basename(bundles.worker));
    expect(path.basename(again.dispatcher)).toBe(path.basename(bundles.dispatcher));
  });
});
