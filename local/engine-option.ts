/** `--engine memory | dynamodb-local | embedded | <url>`: the option that chooses the DynamoDB of a command. */
import { InvalidArgumentError, Option } from 'commander';
import type { EngineOptions } from './engine.ts';

const KINDS = ['memory', 'dynamodb-local', 'embedded'] as const;
/** The engines of the package. `embedded` is for the checkout: the package does not depend on its binary. */
const OFFERED = KINDS.filter((kind) => kind !== 'embedded');

/** @param port of an engine that is started; absent: a free one */
export function engineOf(text: string, port?: number): EngineOptions {
  const kind = KINDS.find((known) => known === text);
  if (kind !== undefined) return { kind, port };
  if (/^https?:\/\//.test(text)) return { kind: 'endpoint', endpoint: text };
  throw new InvalidArgumentError(`must be ${OFFERED.join(', ')}, or the URL of a DynamoDB that takes any credentials`);
}

/** Checks the text. `engineOf` reads it once the port is known. */
export function engineOption(
  description = 'the DynamoDB: memory, dynamodb-local, or the URL of one that runs',
): Option {
  return new Option('--engine <engine>', description).argParser((text: string) => {
    engineOf(text);
    return text;
  });
}
