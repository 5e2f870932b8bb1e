/** Whom the gate lets in: every combination of what a request can say, by its answer. */
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { Gate } from '../../server/gate.ts';

function open() {
  let [made, entered] = [0, 0];
  const ids = { unique: () => `id-${++made}` };
  const gate = new Gate(ids as ConstructorParameters<typeof Gate>[0], () => void entered++);
  gate.port = 8090;
  const app = new Hono();
  app.use(gate.headers, gate.guard);
  app.all('*', (context) => context.text('let in'));
  const ask = (path: string, { method = 'GET', ...headers }: Record<string, string> = {}) =>
    app.request(`http://127.0.0.1:8090${path}`, { method, headers: { host: '127.0.0.1:8090', ...headers } });
  return { gate, ask, entered: () => entered };
}

async function enter({ gate, ask }: ReturnType<typeof open>): Promise<{ address: string; cookie: string }> {
  const address = gate.invite().replace('http://127.0.0.1:8090', '');
  const answer = await ask(address);
  return { address, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

test('answers each combination of method, path, origin, site and cookie', async () => {
  const opened = open();
  const { cookie } = await enter(opened);
  const { root } = opened.gate;
  const paths = { page: root, file: `${root}app.js`, act: `${root}api/acts`, style: '/layout.css', other: '/app.js' };
  const said = {
    origin: { '': undefined, 'own origin': 'http://127.0.0.1:8090', 'foreign origin': 'http://evil.example' },
    site: { '': undefined, 'same-origin': 'same-origin', typed: 'none', 'cross-site': 'cross-site' },
    cookie: { '': undefined, cookie },
  };
  const answers = new Map<string, string[]>();
  for (const method of ['GET', 'HEAD', 'POST'])
    for (const [what, path] of Object.entries(paths))
      for (const [fromOrigin, origin] of Object.entries(said.origin))
        for (const [fromSite, site] of Object.entries(said.site))
          for (const [with_, given] of Object.entries(said.cookie)) {
            const headers = { ...(origin && { origin }), ...(site && { 'sec-fetch-site': site }) };
            const { status } = await opened.ask(path, { method, ...headers, ...(given && { cookie: given }) });
            const group = `${method} ${what}: ${status}`;
            const words = [fromOrigin, fromSite, with_].filter((word) => word !== '').join(' + ');
            answers.set(group, [...(answers.get(group) ?? []), words === '' ? 'nothing' : words]);
          }

  const lines = [...answers].map(([group, words]) => `${group} with ${words.join('; ')}`);
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./gate-rules.txt');
});

test('an address lets one browser in once, and tells it once; the same browser may come again', async () => {
  const opened = open();
  const { gate, ask } = opened;
  const { address, cookie } = await enter(opened);

  const again = await ask(address, { cookie });
  const other = await ask(address);

  expect([again.status, again.headers.get('location'), again.headers.get('set-cookie')]).toEqual([
    303,
    gate.root,
    null,
  ]);
  expect([other.status, opened.entered()]).toEqual([401, 1]);
  expect((await ask(`${gate.root}?token=guessed`, { cookie })).status).toBe(303);
  expect((await ask(`${gate.root}?token=guessed`, { cookie: 'leasehold-console-8091=id-3' })).status).toBe(401);
});

test('a refusal is a page for people, and JSON for the page', async () => {
  const { gate, ask } = open();

  const page = await ask(gate.root);
  const file = await ask(`${gate.root}api/audit`);

  expect(page.headers.get('content-type')).toContain('text/html');
  expect(await page.text()).toContain('leasehold console');
  expect(await file.json()).toEqual({ error: expect.stringContaining('it lets one browser in, once') as string });
  for (const { headers } of [page, file]) {
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  }
});
