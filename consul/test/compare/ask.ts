/** One request as it is sent, to one of two servers, and its answer in a form in which two servers' answers can be compared. */
import { request } from 'node:http';

export interface Step {
  readonly method: string;
  /** After `/v1/`; `{S1}` is replaced by the first created session, `{I:key}` by the modify index of a key. */
  readonly path: string;
  readonly body?: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** The headers that clients read. */
const HEADERS = ['allow', 'location', 'content-type', 'x-consul-index', 'x-consul-knownleader', 'x-consul-lastcontact'];
/** Clocks on one side and a log's numbers on the other: what matters is that they are there. */
const NUMBERS = ['CreateIndex', 'ModifyIndex', 'Index', 'LastContact'];

/** A server, and the names that its sessions have in the steps. */
export class Side {
  readonly #url: URL;
  readonly #sessions: string[] = [];
  #count = 0;

  constructor(url: string) {
    this.#url = new URL(url);
  }

  async ask(step: Step): Promise<Answer> {
    const path = await this.#filled(step.path);
    const body = step.body === undefined ? undefined : await this.#filled(step.body);
    const raw = await this.#send(step.method, path, body);
    if (step.method === 'PUT' && step.path === 'session/create' && raw.status === 200)
      this.#sessions.push((JSON.parse(raw.text) as { readonly ID: string }).ID);
    const headers = Object.fromEntries(
      HEADERS.map((name) => [name, name === 'x-consul-index' ? raw.headers[name] !== undefined : raw.headers[name]]),
    );
    return { status: raw.status, body: this.#comparable(raw.text), headers };
  }

  /** Forgets its sessions: the next one is the first. */
  forget(): void {
    this.#sessions.length = 0;
  }

  async #filled(text: string): Promise<string> {
    let filled = text.replaceAll(/\{S(\d)\}/g, (_, at: string) => this.#sessions[Number(at) - 1] ?? 'no-session');
    for (const [whole, key = ''] of text.matchAll(/\{I:([^}]*)\}/g)) {
      const { text: found } = await this.#send('GET', `kv/${key}`, undefined);
      const [pair] = found === '' ? [] : (JSON.parse(found) as { readonly ModifyIndex: number }[]);
      filled = filled.replace(whole, String(pair?.ModifyIndex ?? 0));
    }
    return filled;
  }

  #send(method: string, path: string, body: string | undefined) {
    return new Promise<{ status: number; text: string; headers: Readonly<Record<string, unknown>> }>(
      (resolve, reject) => {
        const { hostname, port } = this.#url;
        const asking = request({ hostname, port, method, path: `/v1/${path}` }, (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          response.on('end', () => {
            resolve({ status: response.statusCode ?? 0, text, headers: response.headers });
          });
        });
        asking.on('error', reject).end(body);
        this.#count++;
      },
    );
  }

  #comparable(text: string): unknown {
    const named = this.#sessions.reduce((so, id, at) => so.replaceAll(id, `S${at + 1}`), text);
    try {
      return masked(JSON.parse(named));
    } catch {
      return named.replaceAll(/\d{3,}/g, 'N').trim();
    }
  }
}

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value === 'string') return value.replaceAll(/modify index \d+ != \d+/g, 'modify index N != N');
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, NUMBERS.includes(name) ? typeof field : masked(field)]),
  );
}
