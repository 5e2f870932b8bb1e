/** The tests of HashiCorp's own Go client, compiled; or why there are none here. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const CLIENT = 'github.com/hashicorp/consul/api';
const SOURCE = fileURLToPath(new URL('./go', import.meta.url));
/** The first build on a machine fetches and compiles the client's modules. */
const BUILD_TIMEOUT_MS = 300_000;

type GoBuild = { readonly program: string } | { readonly missing: string };

/** The modules of the version that `go.mod` names. They are fetched with it, and stay in Go's module cache. */
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
