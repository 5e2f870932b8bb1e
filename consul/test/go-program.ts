/** The Go program of this folder, built with HashiCorp's own client, and that client's own tests; or why there are none here. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const CLIENT = 'github.com/hashicorp/consul/api';
const SOURCE = fileURLToPath(new URL('./go', import.meta.url));
/** The first build on a machine fetches and compiles the client's modules. */
const BUILD_TIMEOUT_MS = 300_000;

type GoBuild = { readonly program: string } | { readonly missing: string };

export interface GoRun {
  out(): string;
  /** Resolves once it has said so. @throws when it ends before */
  says(line: string | RegExp): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<{ readonly code: number | null; readonly out: string }>;
}

export function buildGoProgram(): GoBuild {
  return build('build', '.');
}

/** The tests of HashiCorp's client, of the version that the program uses. They are fetched with it, and stay where Go keeps modules. */
export function buildClientTests(): GoBuild {
  return build('test', '-c', CLIENT);
}

/** Where Go keeps the sources of HashiCorp's client. */
export function clientSources(): string {
  return execFileSync('go', ['list', '-f', '{{.Dir}}', CLIENT], { cwd: SOURCE, encoding: 'utf8' }).trim();
}

function build(verb: string, ...argv: readonly string[]): GoBuild {
  const program = path.join(mkdtempSync(path.join(tmpdir(), 'leasehold-go-')), 'program');
  try {
    execFileSync('go', [verb, '-o', program, ...argv], { cwd: SOURCE, timeout: BUILD_TIMEOUT_MS, stdio: 'pipe' });
    return { program };
  } catch (error) {
    const { code, stderr = '' } = error as { readonly code?: string; readonly stderr?: Buffer | string };
    return {
      missing: code === 'ENOENT' ? 'there is no go on the PATH' : `go ${verb} failed: ${String(stderr).trim()}`,
    };
  }
}

export function runGo(program: string, url: string, ...argv: readonly string[]): GoRun {
  const child = spawn(program, argv, {
    env: { PATH: process.env.PATH, CONSUL_HTTP_ADDR: url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, out }));
  const hasSaid = (line: string | RegExp): boolean =>
    typeof line === 'string' ? out.split('\n').includes(line) : line.test(out);
  return {
    out: () => out,
    ended,
    kill(signal) {
      child.kill(signal);
    },
    says: (line) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (hasSaid(line)) resolve();
        };
        child.stdout.on('data', look);
        look();
        void ended.then(() => {
          if (hasSaid(line)) resolve();
          else reject(new Error(`it ended without saying ${String(line)}; it said: ${out}`));
        });
      }),
  };
}
