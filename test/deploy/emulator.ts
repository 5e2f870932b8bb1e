/** The AWS of the deployment test: MiniStack, installed from PyPI into a separate folder, on the loopback interface. */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { bindToParent, signalGroup } from '../../local/bind-to-parent.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { REGION } from './settings.ts';

const HOST = '127.0.0.1';
const READY_WITHIN_MS = 300_000;
const STORY_LINES = 30;
const root = path.resolve(import.meta.dirname, '../..');
const workFolder = path.join(root, '.leasehold', 'deploy');
const requirements = path.join(import.meta.dirname, 'requirements.txt');

export interface Emulator {
  readonly endpoint: string;
  /** For every program that shall meet the emulator instead of AWS. */
  readonly environment: Readonly<Record<string, string>>;
  /** The requests that the deployed roles were refused. */
  refusals(): string[];
  /** One call of an AWS API that speaks JSON, for services without a client here. */
  call(service: string, target: string, body: object): Promise<Record<string, unknown>>;
  /** The same for a REST API. @throws Error for a refusal */
  rest(service: string, method: 'GET' | 'PUT', pathAndQuery: string, body?: object): Promise<Record<string, unknown>>;
  /** The end of what it has logged. */
  story(): string;
  stop(): Promise<void>;
}

/** Any credentials would do for the deployer, whom the emulator takes for the account's root. */
const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };

export async function startEmulator(): Promise<Emulator> {
  const python = installEmulator();
  const port = await freePort();
  const endpoint = `http://${HOST}:${port}`;
  const logFile = path.join(workFolder, 'emulator.log');
  const log = openSync(logFile, 'w');
  // Outside of the project: its package.json would turn the emulator's CommonJS files into modules.
  const scratch = mkdtempSync(path.join(tmpdir(), 'leasehold-deploy-'));
  bringSdk(scratch);
  const child = spawn(python, [path.join(import.meta.dirname, 'emulator.py')], {
    cwd: workFolder,
    detached: true,
    stdio: ['ignore', log, log],
    env: {
      // The functions run with the first node on the path, which also runs this test.
      PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH ?? ''}`,
      TMPDIR: scratch,
      PYTHONUNBUFFERED: '1',
      BIND_HOST: HOST,
      GATEWAY_PORT: String(port),
      AUTH: 'true',
      IOT_MTLS_ENABLED: '0',
      SFTP_ENABLED: '0',
    },
  });
  bindToParent(child);
  await untilReady(endpoint, () => child.exitCode, logFile);
  return {
    endpoint,
    environment: {
      ...CREDENTIALS,
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: REGION,
      AWS_DEFAULT_REGION: REGION,
    },
    refusals: () =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('DENIED ')),
    async call(service, target, body) {
      const headers = {
        'content-type': 'application/x-amz-json-1.1',
        'x-amz-target': target,
        ...authorization(service),
      };
      const response = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await response.json()) as Record<string, unknown>;
    },
    async rest(service, method, pathAndQuery, body) {
      const headers = { 'content-type': 'application/json', ...authorization(service) };
      const text = body === undefined ? null : JSON.stringify(body);
      const response = await fetch(`${endpoint}${pathAndQuery}`, { method, headers, body: text });
      const answer = (await response.json()) as Record<string, unknown>;
      if (!response.ok) throw new Error(`${service} refused ${method} ${pathAndQuery}: ${JSON.stringify(answer)}`);
      return answer;
    },
    async stop() {
      if (child.exitCode === null) {
        const ended = once(child, 'exit');
        signalGroup(child, 'SIGKILL'); // it holds nothing that is worth an orderly end
        await ended;
      }
      rmSync(scratch, { recursive: true, force: true });
    },
    story: () => readFileSync(logFile, 'utf8').split('\n').slice(-STORY_LINES).join('\n'),
  };
}

/** The emulator reads the service from it, and believes the rest. */
function authorization(service: string): { readonly authorization: string } {
  const scope = `${CREDENTIALS.AWS_ACCESS_KEY_ID}/20260101/${REGION}/${service}/aws4_request`;
  return { authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=none` };
}

/** Copies the AWS SDK into the emulator's Lambda runtime, which lacks it: our bundles take their Lambda client from there. */
function bringSdk(functionsFolder: string): void {
  const modules = path.join(functionsFolder, 'node_modules');
  mkdirSync(modules);
  symlinkSync(path.join(root, 'node_modules', '@aws-sdk'), path.join(modules, '@aws-sdk'));
}

/** The emulator is unavailable: names the missing program, and how to get it. */
export class EmulatorUnavailable extends Error {}

/** The interpreter of a virtual environment that has exactly the pinned packages; made once for each set of pins. */
function installEmulator(): string {
  const pins = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
  const folder = path.join(root, '.leasehold', `ministack-${pins}`);
  const python = path.join(folder, 'bin', 'python');
  mkdirSync(workFolder, { recursive: true });
  if (existsSync(python)) return python;
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  try {
    execFileSync('python3', ['-m', 'venv', '--copies', unfinished], { stdio: 'pipe' });
  } catch (cause) {
    throw new EmulatorUnavailable(
      'the emulator needs Python 3.10 or newer with its venv module (Debian, Ubuntu: apt-get install python3-venv)',
      { cause },
    );
  }
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '-r', requirements];
  try {
    execFileSync(path.join(unfinished, 'bin', 'python'), pip, { stdio: ['ignore', 'ignore', 'inherit'] });
  } catch (cause) {
    throw new EmulatorUnavailable('the emulator could not be installed: is the index of Python packages reachable?', {
      cause,
    });
  }
  renameSync(unfinished, folder);
  return python;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}

async function untilReady(endpoint: string, exitCode: () => number | null, logFile: string): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  while (performance.now() < deadline) {
    if (exitCode() !== null) break;
    const answered = await fetch(`${endpoint}/_ministack/health`).then(
      (response) => response.ok,
      () => false, // not listening yet
    );
    if (answered) return;
    await wait(200);
  }
  throw new ConfigurationError(`the emulator did not come up: see ${path.relative(root, logFile)}`);
}
