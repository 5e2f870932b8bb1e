/**
 * Differences between the accepted versions of `aws-cdk-lib`.
 *
 * The floor is 2.224.0, the first with Node.js 24: below it `Runtime.NODEJS_24_X` is undefined, and synthesis silently writes `nodejs16.x`.
 * `npm run test:package` synthesizes one app with the floor and with the newest version, and compares the templates.
 */
import { createRequire } from 'node:module';
import * as cdk from 'aws-cdk-lib';
import { Runtime } from 'aws-cdk-lib/aws-lambda';
import type { IConstruct } from 'constructs';
import { ConfigurationError } from '../shared/core/errors.ts';

/** The oldest `aws-cdk-lib` that synthesizes these constructs; `release/build.ts` names it in the package's peers. */
export const OLDEST_CDK = '2.224.0';

/** An accepted finding of cdk-nag, and the reason. */
interface Acknowledgement {
  readonly id: string;
  readonly reason: string;
}

/** Older versions lack the class and the method and do not read the acknowledgement, so the template is the same. */
interface MaybeValidations {
  readonly Validations?: { of(scope: IConstruct): { acknowledge?(finding: Acknowledgement): void } };
}

/** Accepts a cdk-nag finding for this scope, if this CDK version supports that (from 2.252.0). */
export function acknowledge(scope: IConstruct, finding: Acknowledgement): void {
  const { Validations } = cdk as MaybeValidations;
  Validations?.of(scope).acknowledge?.(finding);
}

/** @throws ConfigurationError when the installed `aws-cdk-lib` does not know Node.js 24 */
export function node24(runtimes: { readonly NODEJS_24_X?: Runtime } = Runtime): Runtime {
  if (runtimes.NODEJS_24_X !== undefined) return runtimes.NODEJS_24_X;
  const { version } = createRequire(import.meta.url)('aws-cdk-lib/package.json') as { readonly version: string };
  throw new ConfigurationError(
    `aws-cdk-lib ${version} has no Node.js 24 runtime for Lambda: install aws-cdk-lib ${OLDEST_CDK} or later`,
  );
}
