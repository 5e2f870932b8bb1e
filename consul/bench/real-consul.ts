/** A real Consul, built from its Go module if Go is installed; otherwise the reason why it is unavailable. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../shared/core/runtime/clock.ts';

export const CONSUL_VERSION = '1.20.6';
/** Names an existing Consul program to use instead of a build. */
const PROGRAM_VARIABLE = 'CONSUL_PROGRAM';
const CACHE = path.resolve(import.meta.dirname, '../../.leasehold', `consul-${CONSUL_VERSION}`);
/** Consul is large: half an hour on a small machine. */
const BUILD_TIMEOUT_MS = 3_600_000;

// oxlint-disable-next-line typescript/strict-void-return -- `promisify` has an overload for such functions as `execFile`, which the rule does not see
const run = promisify(execFile);

type ConsulProgram = { readonly program: string } | { readonly missing: string };

interface RunningConsul {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** @param options.builds whether to build a missing program, which takes minutes */
export async function findConsul({ builds }: { readonly builds: boolean }): Promise<ConsulProgram> {
  const given = process.env[PROGRAM_VARIABLE];
  const program = given ?? path.join(CACHE, 'consul');
  if (await isThere(program)) return { program };
  if (given !== undefined) return { missing: `${PROGRAM_VARIABLE} names ${given}, which is not there` };
  if (!builds) return { missing: 'it is not built: node consul/test/compare/compare.ts builds it, and needs Go' };
  try {
    await build(program);
    return { program };
  } catch (error) {
    const { code, stderr = '' } = error as { readonly code?: string; readonly stderr?: string };
    return {
      missing: code === 'ENOENT' ? 'there is no go on the PATH' : `go build failed: ${stderr.trim().slice(-500)}`,
    };
  }
}

/** Only its agent, because its other commands take most of the build time. */
const MAIN = `package main

import (
	"os"

	mcli "github.com/mitchellh/cli"

	"github.com/hashicorp/consul/command/agent"
	"github.com/hashicorp/consul/command/cli"
)

func main() {
	ui := &cli.BasicUI{BasicUi: mcli.BasicUi{Writer: os.Stdout, ErrorWriter: os.Stderr}}
	os.Exit(agent.New(ui).Run(os.Args[2:]))
}
`;

/** Builds in our own module that requires Consul's, with all checksums from Consul's own module. */
async function build(program: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const options = { cwd: CACHE, timeout: BUILD_TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 };
  const module = `github.com/hashicorp/consul@v${CONSUL_VERSION}`;
  await writeFile(path.join(CACHE, 'go.mod'), 'module consul.build\n\ngo 1.23.8\n');
  await writeFile(path.join(CACHE, 'main.go'), MAIN);
  const { stdout } = await run('go', ['mod', 'download', '-json', module], options);
  await copyFile(path.join((JSON.parse(stdout) as { readonly Dir: string }).Dir, 'go.sum'), path.join(CACHE, 'go.sum'));
  await run('go', ['get', module], options);
  await run('go', ['build', '-o', program, '.'], options);
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

/** One server without disk or peers. @param node its name */
export async function startConsul(program: string, node: string): Promise<RunningConsul> {
  const folder = await mkdtemp(path.join(tmpdir(), 'leasehold-consul-'));
  const [http, server, serfLan, serfWan] = await Promise.all(Array.from({ length: 4 }, freePort));
  const ports = { http, server, serf_lan: serfLan, serf_wan: serfWan, dns: -1, grpc: -1, grpc_tls: -1 };
  const config = { ports, node_name: node, session_ttl_min: '1s', connect: { enabled: false }, log_level: 'ERROR' };
  await writeFile(path.join(folder, 'config.json'), JSON.stringify(config));
  const argv = ['agent', '-dev', '-bind', '127.0.0.1', '-config-file', path.join(folder, 'config.json')];
  const child = spawn(program, argv, { stdio: 'ignore' });
  const url = `http://127.0.0.1:${http}`;
  const ended = once(child, 'close');
  while (!(await hasLeader(url))) {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
    await systemClock.sleep(100);
  }
  return {
    url,
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

async function hasLeader(url: string): Promise<boolean> {
  try {
    const nodes = await fetch(`${url}/v1/health/state/passing`);
    return nodes.ok && ((await nodes.json()) as unknown[]).length > 0;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
