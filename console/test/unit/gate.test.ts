/** Admission and allowed requests, without a browser, so that it runs everywhere. */
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { RunningConsole } from '../../server/server.ts';
import type { CommandTable } from '../../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../../test/support/command-table.ts';
import type { ConsoleVisitor } from '../support/console.ts';
import { enter, openConsole } from '../support/console.ts';

const endpoint = inject('embeddedEndpoint');

interface Asked {
  readonly method?: string;
  /** Below the console's own path; default: its page. */
  readonly path?: string;
  /** The whole path, instead. */
  readonly whole?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

describe.skipIf(endpoint === null)('the gate of the console', () => {
  let table: CommandTable;
  let running: RunningConsole;
  let visitor: ConsoleVisitor;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
    running = await openConsole(table);
    visitor = await enter(running);
  });
  afterAll(async () => {
    await running.close();
    closeCommandTable(table);
  });

  /** `fetch` does not let its caller forge a Host; an attacker does. */
  function ask({ method = 'GET', path = '', whole, headers = {}, body }: Asked): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const full = whole ?? `${root()}${path}`;
      const asking = request({ host: '127.0.0.1', port: running.port, method, path: full, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
        });
      });
      asking.on('error', reject).end(body);
    });
  }

  const root = () => new URL(running.address).pathname;
  const cookie = () => ({ cookie: visitor.cookie });
  const act = JSON.stringify({ verb: 'queue.pause', queue: 'default', reason: 'a drill' });
  const asAct = (headers: Readonly<Record<string, string>>): Asked => ({
    method: 'POST',
    path: 'api/acts',
    body: act,
    headers: { 'content-type': 'application/json', ...headers },
  });

  test('shows nothing without a token', async () => {
    for (const path of ['', 'app.js', 'api/audit', 'api/live', 'nothing'])
      expect((await ask({ path })).status, path).toBe(401);
    const guessed = await ask({ path: '?token=guessed' });
    expect(guessed.status).toBe(401);
    expect(guessed.body).toContain('The terminal in which the console runs prints a new address');
    expect((await ask({ headers: { cookie: `leasehold-console-${running.port}=guessed` } })).status).toBe(401);
    expect((await ask(asAct({ origin: visitor.origin }))).status).toBe(401);
  });

  test('shows nothing outside of its own path, not even to a browser that it let in', async () => {
    for (const whole of ['/', '/app.js', '/api/audit', root().slice(0, -1), `/${'0'.repeat(36)}/api/audit`])
      expect((await ask({ whole, headers: cookie() })).status, whole).toBe(401);
    expect((await ask({ whole: `/${new URL(running.invite()).search}`, headers: {} })).status).toBe(401);
  });

  test('turns a token into a cookie once, and takes it out of the address', async () => {
    const path = new URL(running.invite()).search;

    const first = await ask({ path });
    const second = await ask({ path });

    expect(first).toMatchObject({ status: 303, headers: { location: root() } });
    expect(root()).toMatch(/^\/[\w-]{36}\/$/);
    expect(String(first.headers['set-cookie'])).toMatch(
      /^leasehold-console-\d+=[\w-]{36}; Path=\/[\w-]{36}\/; HttpOnly; SameSite=Strict$/,
    );
    expect(String(first.headers['set-cookie'])).toContain(`Path=${root()};`);
    expect(second.status).toBe(401);
    expect(second.headers['set-cookie']).toBeUndefined();
    expect(second.body).toContain('was used already');
  });

  test('remembers fifty browsers, and lets the first one out for another', async () => {
    const another = await openConsole(table);
    const first = await enter(another);
    for (let n = 1; n < 50; n++) await enter(another);
    expect((await first.get('app.js')).status).toBe(200);

    const last = await enter(another);

    expect((await first.get('app.js')).status).toBe(401);
    expect((await last.get('app.js')).status).toBe(200);
    await another.close();
  });

  test.each([
    ['a foreign host', 'evil.example'],
    ['a foreign host on our port', 'evil.example:PORT'],
    ['a host that begins like ours', '127.0.0.1.evil.example:PORT'],
    ['another port of this machine', '127.0.0.1:1'],
  ])('refuses %s', async (_what, host) => {
    const answer = await ask({
      path: 'api/audit',
      headers: { ...cookie(), host: host.replace('PORT', String(running.port)) },
    });

    expect(answer.status).toBe(403);
  });

  test('answers to both names of loopback', async () => {
    for (const name of ['127.0.0.1', 'localhost'])
      expect((await ask({ headers: { ...cookie(), host: `${name}:${running.port}` } })).status).toBe(200);
  });

  test('refuses what another page asks for, cookie or not', async () => {
    const foreign = { ...cookie(), origin: 'https://evil.example' };
    expect((await ask({ path: 'api/audit', headers: foreign })).status).toBe(403);
    expect((await ask({ path: 'api/audit', headers: { ...cookie(), origin: 'null' } })).status).toBe(403);
    expect((await ask({ path: 'api/audit', headers: { ...cookie(), 'sec-fetch-site': 'cross-site' } })).status).toBe(
      403,
    );
    expect((await ask({ path: 'app.js', headers: { ...cookie(), 'sec-fetch-site': 'same-site' } })).status).toBe(403);
    expect((await ask(asAct(foreign))).status).toBe(403);
    // A browser sends an Origin with everything that changes anything.
    expect((await ask(asAct(cookie()))).status).toBe(403);
    expect((await ask(asAct({ ...cookie(), origin: `http://localhost:${running.port}` }))).status).toBe(403);
    expect(await (await visitor.get('api/audit')).json()).toMatchObject({ acts: [] });
  });

  test('sends its policy with everything, refusals included', async () => {
    const answers = [
      await ask({ headers: cookie() }),
      await ask({ path: 'app.js', headers: cookie() }),
      await ask({ path: 'api/audit', headers: cookie() }),
      await ask({ path: 'api/tasks', headers: cookie() }),
      await ask({ path: 'nothing', headers: cookie() }),
      await ask({}),
      await ask({ headers: { host: 'evil.example' } }),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 400, 404, 401, 403]);
    // Caches keep the page's own files alone, and ask whether they have changed.
    expect(answers.map(({ headers }) => headers['cache-control'])).toEqual([
      'no-cache',
      'no-cache',
      ...Array.from({ length: 5 }, () => 'no-store'),
    ]);
    for (const { headers } of answers) {
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
      });
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
  });

  test('sends a file once, and compressed to who takes that', async () => {
    const first = await ask({ path: 'app.js', headers: { ...cookie(), 'accept-encoding': 'gzip' } });
    const plain = await ask({ path: 'app.js', headers: cookie() });
    const again = await ask({ path: 'app.js', headers: { ...cookie(), 'if-none-match': String(first.headers.etag) } });

    expect(first.headers).toMatchObject({ 'content-encoding': 'gzip', etag: plain.headers.etag });
    expect(Number(first.headers['content-length'])).toBeLessThan(plain.body.length / 2);
    expect(again).toMatchObject({ status: 304, body: '' });
  });

  test('shows its style to everybody on this machine, and its code to nobody else', async () => {
    const statuses = ['/layout.css', '/icon.svg', '/app.js', '/views/tasks.js', '/api/connection'].map(
      async (whole) => (await ask({ whole })).status,
    );

    expect(await Promise.all(statuses)).toEqual([200, 200, 401, 401, 401]);
    expect((await ask({ whole: '/layout.css', headers: { host: 'evil.example' } })).status).toBe(403);
  });

  test('loads ahead of time every module that the first page needs', async () => {
    const { body } = await ask({ headers: cookie() });
    const folder = path.resolve(import.meta.dirname, '../../page');
    const modules = new Set<string>();
    const walk = (file: string): void => {
      if (modules.has(file)) return;
      modules.add(file);
      const text = readFileSync(path.join(folder, file), 'utf8');
      for (const [, imported = ''] of text.matchAll(/^import [^;]* from '(\.[^']+)';/gm))
        walk(path.posix.join(path.posix.dirname(file), imported));
    };
    for (const file of ['app.js', 'views/overview.js']) walk(file);
    modules.delete('app.js');

    const preloaded = [...body.matchAll(/rel="modulepreload" href="\/?([^"]+)"/g)].map(([, file]) => file);

    expect(preloaded.toSorted()).toEqual([...modules].toSorted());
  });

  test('serves nothing but the files of its page', async () => {
    for (const place of ['..%2fserver.ts', 'tsconfig.json', 'views', '/etc/passwd', '%2e%2e%2fserver.ts'])
      expect((await ask({ path: place, headers: cookie() })).status, place).toBe(404);
    // These leave its path, which is refused before anything is looked for.
    for (const place of ['../server.ts', '%2e%2e/server.ts'])
      expect((await ask({ path: place, headers: cookie() })).status, place).toBe(401);
  });

  test('has neither script nor style of its own in its markup', async () => {
    const { body } = await ask({ headers: cookie() });

    expect(body).toMatch(/<script type="module" src="app\.js"><\/script>/);
    expect(body.match(/<script/g)).toHaveLength(1);
    expect(body).not.toMatch(/<style|style=|onload|onclick/);
  });

  test('listens on loopback only', async () => {
    const elsewhere = fetch(`http://[::1]:${running.port}/`);

    await expect(elsewhere).rejects.toThrow();
  });
});
