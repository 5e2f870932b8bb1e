/** Admission by the gate: every combination of a request's claims, by its answer. */
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

test('lets one browser in once by its address; the same browser may come again', async () => {
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

test('refuses with a page for browsers, and with JSON for the page', async () => {
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
