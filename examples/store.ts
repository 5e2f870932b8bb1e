/**
 * The store of all examples, with their table.
 *
 * Several terminals share one table, and killing one of them must not remove it.
 * So without `--endpoint` the first one starts the embedded engine in
 * its own process, which ends after a quarter of an hour.
 */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Leasehold } from 'leasehold';
import { createLeasehold } from 'leasehold';
import { startEngine } from '../local/engine.ts';
import { probe } from '../local/engine/probe.ts';
import { TABLE } from './table.ts';

const PORT = 8042;
const LIFETIME_MS = 15 * 60_000;
/** On a busy machine an engine takes its time to start. */
const PATIENCE_MS = 120_000;

/** A Leasehold on the given endpoint, or on the store that all examples on this machine share. */
export async function openLeasehold(endpoint: string | undefined): Promise<Leasehold> {
  const leasehold = createLeasehold({ table: TABLE, endpoint: endpoint ?? (await sharedStore()) });
  await leasehold.createTable();
  return leasehold;
}

export type LocalSettings = Readonly<
  Record<'AWS_ENDPOINT_URL_DYNAMODB' | 'AWS_REGION' | 'AWS_ACCESS_KEY_ID' | 'AWS_SECRET_ACCESS_KEY', string>
>;

/** Settings that lead a program's AWS SDK to that store; in the cloud, Lambda sets them. */
export async function localSettings(endpoint: string | undefined): Promise<LocalSettings> {
  return {
    AWS_ENDPOINT_URL_DYNAMODB: endpoint ?? (await sharedStore()),
    AWS_REGION: 'local',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
  };
}

async function sharedStore(): Promise<string> {
  const endpoint = `http://127.0.0.1:${PORT}`;
  if ((await probe(endpoint, 1_000)).kind === 'ready') return endpoint;
  spawn(process.execPath, [fileURLToPath(import.meta.url)], { detached: true, stdio: 'ignore' }).unref();
  const deadline = performance.now() + PATIENCE_MS;
  while (performance.now() < deadline) {
    if ((await probe(endpoint, 1_000)).kind === 'ready') return endpoint;
    await sleep(50);
  }
  throw new Error(`no store came up on ${endpoint}: is the port taken? give another DynamoDB with --endpoint`);
}

/** Run by itself, this file is that store. */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const engine = await startEngine({ kind: 'embedded', port: PORT });
  await sleep(LIFETIME_MS);
  await engine.stop();
}
