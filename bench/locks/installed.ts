/** The peers' modules. They are not our dependencies: `peers/` is a separate package, installed when the comparison first runs. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const PACKAGE = fileURLToPath(new URL('peers/', import.meta.url));
const require = createRequire(`${PACKAGE}package.json`);

/** @returns why they are unavailable; undefined once they are installed */
export function installPeers(): string | undefined {
  // Written by npm as its last step.
  if (existsSync(`${PACKAGE}node_modules/.package-lock.json`)) return undefined;
  console.error('installing the lock clients to compare with…');
  const { status, stderr } = spawnSync('npm', ['ci', '--ignore-scripts', '--loglevel=error'], {
    cwd: PACKAGE,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  return status === 0 ? undefined : `npm ci failed: ${stderr.trim().split('\n').at(-1) ?? 'it said nothing'}`;
}

/** @throws when it is not installed */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- says what is in it, as `import` cannot
export function loadPeer<Module>(name: string): Module {
  const module = require(name) as Module & { readonly default?: Module };
  return module.default ?? module;
}
