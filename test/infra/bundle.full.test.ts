/** The bundles themselves: what Lambda will load. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BundlingOptions } from 'aws-cdk-lib/aws-lambda-nodejs';
import { Duration, Stack } from 'aws-cdk-lib';
import { HandlerFunction } from '../../infra/handler-function.ts';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ENV } from '../../functions/env.ts';
import { LeaseholdStack } from '../../infra/stack.ts';
import { ENTRY, newApp } from './synthesize.ts';

interface LambdaResource {
  readonly Type: string;
  readonly Properties: { readonly Description: string; readonly Code: { readonly S3Key: string } };
}

/** Folders of the bundles. */
function bundle(): Record<'worker' | 'dispatcher' | 'waker', string> {
  const app = newApp({ 'aws:cdk:bundling-stacks': ['**'] });
  new LeaseholdStack(app, 'Leasehold', { workers: { entry: ENTRY } });
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
  return { worker: folderOf('Runs'), dispatcher: folderOf('Invokes'), waker: folderOf('Starts') };
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
  });

  test.each(['worker', 'dispatcher', 'waker'] as const)('load the %s on its own, with an exported handler', (which) => {
    const { stdout, stderr } = load(bundles[which], {
      [ENV.table]: 'table',
      [ENV.workerFunction]: 'worker',
      [ENV.wakeQueues]: '[{"queue":"media","workerFunction":"worker"}]',
    });

    expect({ stdout, stderr }).toEqual({ stdout: 'function\n', stderr: '' });
  });

  test('keep the names of errors, and the lines of the source of the tasks alone', () => {
    const { stderr } = load(bundles.worker, {});
    const map = readFileSync(path.join(bundles.worker, 'index.mjs.map'), 'utf8');
    const { sources } = JSON.parse(map) as { readonly sources: readonly string[] };

    expect(stderr).toMatch(/ConfigurationError: LEASEHOLD_TABLE is not set/);
    expect(sources.map((source) => path.basename(source))).toContain(path.basename(ENTRY));
    expect(sources.filter((source) => /(?:shared|functions)\//.test(source))).toEqual([]);
    expect(existsSync(path.join(bundles.dispatcher, 'index.mjs.map'))).toBe(false);
  });

  test('are identical when built twice, so that unchanged code is not deployed', () => {
    const again = bundle();

    expect(path.basename(again.worker)).toBe(path.basename(bundles.worker));
    expect(path.basename(again.dispatcher)).toBe(path.basename(bundles.dispatcher));
  });

  test('made in a container ask it for nothing of this machine', () => {
    const asked = bundleInContainer({ forceDockerBundling: true });

    expect(asked).toContain('/asset-output/index.mjs');
    expect(asked).not.toContain(path.resolve(import.meta.dirname, '../..'));
    expect(asked).not.toContain(process.execPath);
  });
});

/**
 * Returns the commands for the container of the worker's bundle, recorded by a fake Docker that writes them where the bundle should be.
 */
function bundleInContainer(bundling: BundlingOptions): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-docker-'));
  const [docker, log] = [path.join(folder, 'docker'), path.join(folder, 'log')];
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
  const program = `#!${process.execPath}
    const [verb, ...rest] = process.argv.slice(2);
    if (verb === 'run') {
      const [output] = rest.find((argument) => argument.includes(':/asset-output')).split(':');
      require('node:fs').writeFileSync(output + '/index.mjs', '');
      require('node:fs').writeFileSync(${JSON.stringify(log)}, rest.at(-1));
    }`;
  writeFileSync(docker, program, { mode: 0o755 });
  vi.stubEnv('CDK_DOCKER', docker);
  const app = newApp({ 'aws:cdk:bundling-stacks': ['**'] });
  new HandlerFunction(new Stack(app, 'Leasehold'), 'Handler', {
    entry: ENTRY,
    description: 'made in a container',
    timeout: Duration.seconds(3),
    memorySize: 128,
    environment: {},
    production: false,
    bundling,
  });
  return readFileSync(log, 'utf8');
}
