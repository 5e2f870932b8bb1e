/**
 * Admission: a browser on this machine that received the one-time token, and requests our own pages.
 *
 *   - The server listens on loopback only.
 *   - `Host` must name loopback and our port: a foreign name that resolves to this address (DNS rebinding) is refused.
 *   - `Origin`, if present, must be ours, and every request that changes something must send it.
 *   - The token in the address works once; the cookie that it becomes is HttpOnly and SameSite=Strict.
 *   - Everything is served below a random path, which is the cookie's `Path`: browsers send cookies of one host to all its ports,
 *     and no other server on this machine has that path. Styles and the icon are also served to everybody, at the top,
 *     so that the refusal page looks like the others.
 *   - Inline scripts and styles do not run, other origins cannot load or frame anything here, and caches keep only the page's own
 *     files, and revalidate them.
 */
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { html } from 'hono/html';
import type { Ids } from '../../shared/core/runtime/ids.ts';

const TOKEN_PARAMETER = 'token';

const HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    // Even our own script cannot turn text into markup.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
} as const;

/** Styles and the icon, at the top. */
const PUBLIC = /^\/(?:layout\.css|parts\.css|icon\.svg)$/;
const READS = new Set(['GET', 'HEAD']);
/** Browsers that have been let in; the first ones are forgotten beyond that. */
const BROWSERS_LIMIT = 50;

export class Gate {
  readonly #ids: Ids;
  /** The path of the console's page: everything else is below it. Known to browsers that were let in or invited. */
  readonly root: string;
  readonly #tokens = new Set<string>();
  readonly #browsers = new Set<string>();
  /** Called when a token was spent: a caller that shows addresses may want a fresh one. */
  readonly #onEntered: () => void;
  #port = 0;

  constructor(ids: Ids, onEntered: () => void) {
    this.#ids = ids;
    this.root = `/${ids.unique()}/`;
    this.#onEntered = onEntered;
  }

  /** Known once the server listens. */
  set port(port: number) {
    this.#port = port;
  }

  /** An address that lets one browser in, once. */
  invite(): string {
    const token = this.#ids.unique();
    this.#tokens.add(token);
    return `http://127.0.0.1:${this.#port}${this.root}?${TOKEN_PARAMETER}=${token}`;
  }

  readonly headers: MiddlewareHandler = async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS))
      if (name !== 'Cache-Control' || !context.res.headers.has(name)) context.header(name, value);
  };

  readonly guard: MiddlewareHandler = async (context, next) => {
    const host = context.req.header('host') ?? '';
    if (![`127.0.0.1:${this.#port}`, `localhost:${this.#port}`].includes(host))
      return refuse(context, 403, 'This is not the address of this console.');
    if (!this.#isOurs(context, `http://${host}`))
      return refuse(context, 403, 'Another page asked for this: the console serves its own pages only.');
    const token = context.req.query(TOKEN_PARAMETER);
    if (context.req.path === this.root && token !== undefined) return this.#enter(context, token);
    const isPublic = READS.has(context.req.method) && PUBLIC.test(context.req.path);
    const isLetIn = this.#browsers.has(getCookie(context, this.#cookie) ?? '');
    if (!isPublic && !(isLetIn && context.req.path.startsWith(this.root)))
      return refuse(context, 401, 'Open the address that leasehold console has printed: it lets one browser in, once.');
    await next();
    return undefined;
  };

  #isOurs({ req }: Context, origin: string): boolean {
    const given = req.header('origin');
    if (given !== undefined) return given === origin;
    if (!READS.has(req.method)) return false;
    // Browsers say where a request comes from; `none` is a person who typed or clicked an address outside of any page.
    return req.path === this.root || ['same-origin', 'none', undefined].includes(req.header('sec-fetch-site'));
  }

  #enter(context: Context, token: string): Response | Promise<Response> {
    // The admitted browser may reload the first address.
    const isKnown = this.#browsers.has(getCookie(context, this.#cookie) ?? '');
    if (!isKnown) {
      if (!this.#tokens.delete(token))
        return refuse(context, 401, 'This address was used already, or is not of this console.');
      const browser = this.#ids.unique();
      this.#browsers.add(browser);
      const [first] = this.#browsers;
      if (this.#browsers.size > BROWSERS_LIMIT && first !== undefined) this.#browsers.delete(first);
      setCookie(context, this.#cookie, browser, { httpOnly: true, sameSite: 'Strict', path: this.root });
      this.#onEntered();
    }
    // The token leaves the address bar and the history.
    return context.redirect(this.root, 303);
  }

  /** Two consoles on one machine must not log each other out, whatever their paths. */
  get #cookie(): string {
    return `leasehold-console-${this.#port}`;
  }
}

function refuse(context: Context, status: 401 | 403, message: string): Response | Promise<Response> {
  if (!context.req.path.endsWith('/')) return context.json({ error: message }, status);
  return context.html(
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width" />
          <meta name="color-scheme" content="light dark" />
          <title>Not signed in · Leasehold</title>
          <link rel="icon" type="image/svg+xml" href="/icon.svg" />
          <link rel="stylesheet" href="/layout.css" />
          <link rel="stylesheet" href="/parts.css" />
        </head>
        <body class="refused">
          <main>
            <h1>Not signed in</h1>
            <p>${message}</p>
            ${status === 401 ? NEXT : ''}
          </main>
        </body>
      </html>`,
    status,
  );
}

const NEXT = html`<p>
    The terminal in which the console runs prints a new address after each one that was used: open the last one. If that
    terminal is gone, this command prints one, with the options it was given before:
  </p>
  <pre class="json"><code>leasehold console</code></pre>`;
