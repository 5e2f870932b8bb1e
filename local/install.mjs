/**
 * Makes `npm start` and `npm test` the only command that a fresh checkout needs: installs package-lock.json's packages if they are missing.
 *
 * It runs before any installation, on the machine's own Node: no dependency, no TypeScript, nothing newer than Node 18.
 * It judges the installation by content (npm keeps a list in node_modules), because a checkout changes times and not packages.
 * Install scripts stay off, because our dependencies do not need them.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const WANTED = path.join(ROOT, 'package-lock.json');
/** Written by npm as its last step, so an installation that was cut short does not have it. */
const INSTALLED = path.join(ROOT, 'node_modules', '.package-lock.json');
/** Holds the process id of the run that installs; in the folder for things that may be deleted at any time. */
const LOCK = path.join(ROOT, '.leasehold', 'install.lock');
/** Comes with the packages on Linux, and is the first that npm's scripts find. */
const NODE_OF_PACKAGES = path.join(ROOT, 'node_modules', '.bin', 'node');
/** It strips types by itself, and knows `using`. */
const OLDEST_NODE = 24;
const KEPT_OUTPUT_LINES = 15;
const ABANDONED_AFTER_MS = 20 * 60 * 1000;

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});

async function main() {
  if (!isInstalled()) await installAlone();
  ensureNode();
}

async function installAlone() {
  await takeLock();
  try {
    if (!isInstalled()) await install(); // Another process may have done it while we waited.
  } finally {
    rmSync(LOCK, { force: true });
  }
}

/** Otherwise the first module would end in a syntax error that says nothing of versions. */
function ensureNode() {
  if (majorOf(process.version) >= OLDEST_NODE) return;
  const { stdout } = spawnSync(NODE_OF_PACKAGES, ['--version'], { encoding: 'utf8' });
  if (majorOf(stdout ?? '') >= OLDEST_NODE) return;
  throw new Error(
    `the sources run on Node ${OLDEST_NODE} or later, and this is ${process.version}: install a current one from https://nodejs.org (the package itself runs on older ones)`,
  );
}

/** @param {string} version */
function majorOf(version) {
  return Number(/^v(\d+)\./.exec(version)?.[1] ?? 0);
}

/** Optional packages of other platforms may be missing. */
function isInstalled() {
  const wanted = packagesIn(WANTED);
  const installed = packagesIn(INSTALLED);
  if (wanted === undefined) {
    throw new Error('package-lock.json is missing or damaged: restore it with git checkout package-lock.json');
  }
  if (installed === undefined) return false;
  return Object.entries(wanted).every(([place, { version, optional, link }]) => {
    if (place === '' || link) return true;
    const found = installed[place];
    return found === undefined ? optional === true : found.version === version;
  });
}

/** @returns {Record<string, {version?: string, optional?: boolean, link?: boolean}> | undefined} */
function packagesIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined; // Missing or half written; the caller says what that means.
  }
}

async function install() {
  const count = Object.values(packagesIn(WANTED) ?? {}).filter(({ optional }) => !optional).length - 1;
  process.stdout.write(`installing ${count} packages… `);
  const begun = Date.now();
  const { code, output } = await npmCi();
  if (code === 0) {
    process.stdout.write(`done in ${Math.round((Date.now() - begun) / 1000)} s\n`);
    return;
  }
  process.stdout.write('failed\n');
  const lastLines = output.trim().split('\n').slice(-KEPT_OUTPUT_LINES).join('\n');
  throw new Error(`npm ci failed (exit code ${code}); is the registry reachable? It said:\n${lastLines}`);
}

/** With the npm that called us, run by the Node that runs it: `npm ci` deletes the Node in node_modules. */
function npmCi() {
  const { npm_execpath: npm, npm_node_execpath: node } = process.env;
  const options = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const calledByNpm = npm !== undefined && path.basename(npm) === 'npm-cli.js';
  const child = calledByNpm
    ? spawn(node ?? process.execPath, [npm, ...options], { cwd: ROOT })
    : spawn('npm', options, { cwd: ROOT, shell: process.platform === 'win32' });
  let output = '';
  const keep = (chunk) => {
    output += chunk;
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 'none', output: `npm cannot be started: ${error.message}` }));
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** Two runs at once must not install into one folder: the second waits, and finds the work done. */
async function takeLock() {
  mkdirSync(path.dirname(LOCK), { recursive: true });
  for (;;) {
    try {
      writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (isAbandoned()) rmSync(LOCK, { force: true });
    else await sleep(200);
  }
}

function isAbandoned() {
  try {
    const holder = Number(readFileSync(LOCK, 'utf8'));
    // A process id comes back one day: no installation takes this long.
    if (Date.now() - statSync(LOCK).mtimeMs > ABANDONED_AFTER_MS) return true;
    if (holder > 0) process.kill(holder, 0);
    return false; // Alive, or taken in this very moment and not yet written.
  } catch (error) {
    return error.code === 'ESRCH';
  }
}
