/** Where an answer ends, and what is none: byte for byte, and beside Node's own client. */
import http from 'node:http';
import { Duplex } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { AnswerReader } from '../../../../shared/dynamo/wire/answer-reader.ts';
import { Prng } from '../../../support/machines/prng.ts';

const LENGTH = 'HTTP/1.1 200 OK\r\nX-Odd:\t a  b \r\ncontent-length: 5\r\n\r\nhello';
const CHUNKS =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\nb;a=b;c\r\nhello again\r\n0\r\ntrailer: x\r\n\r\n';
const INTERIM =
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103\r\nlink: a\r\n\r\nHTTP/1.1 400 Bad\r\ncontent-length: 2\r\n\r\nno';
const TO_THE_END = 'HTTP/1.1 200 OK\r\ndate: a\r\nDate: b\r\n\r\nhello';
const OLD = 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}';
const OLD_AND_KEPT = 'HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 2\r\n\r\n{}';
const CLOSING = 'HTTP/1.1 200 OK\r\nconnection: x, Close\r\ncontent-length: 0\r\n\r\n';
const EMPTY = 'HTTP/1.1 204 No\r\nx: y\r\n\r\n';
const UNCHANGED = 'HTTP/1.1 304 No\r\ncontent-length: 7\r\n\r\n';
const GOOD = [LENGTH, CHUNKS, INTERIM, TO_THE_END, OLD, OLD_AND_KEPT, CLOSING, EMPTY, UNCHANGED];

interface Read {
  readonly status: number | undefined;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** In pieces that begin at the places given; undefined for what is cut. @throws Error for what is no answer */
function readIn(text: string, ...places: readonly number[]): (Read & { readonly isKept: boolean }) | undefined {
  const bytes = Buffer.from(text, 'latin1');
  const reader = new AnswerReader();
  const bounds = [0, ...places, bytes.length];
  for (let piece = 1; piece < bounds.length; piece++) {
    const given = Buffer.from(bytes.subarray(bounds[piece - 1], bounds[piece]));
    const answer = reader.read(given);
    given.fill('!'); // As the next read does.
    if (answer !== undefined) return shown(answer, reader.isKept && piece === bounds.length - 1);
  }
  const atEnd = reader.end();
  return atEnd === undefined ? undefined : shown(atEnd, false);
}

function shown({ status, headers, body }: ReturnType<AnswerReader['read']> & object, isKept: boolean) {
  return { status, body: Buffer.from(body).toString('latin1'), headers: { ...headers }, isKept };
}

test.each([
  [LENGTH, { status: 200, body: 'hello', headers: { 'x-odd': 'a  b', 'content-length': '5' }, isKept: true }],
  [CHUNKS, { status: 200, body: 'hellohello again', headers: { 'transfer-encoding': 'Chunked' }, isKept: true }],
  [INTERIM, { status: 400, body: 'no', headers: { 'content-length': '2' }, isKept: true }],
  [TO_THE_END, { status: 200, body: 'hello', headers: { date: 'a, b' }, isKept: false }],
  [OLD, { status: 200, body: '{}', isKept: false }],
  [OLD_AND_KEPT, { status: 200, body: '{}', isKept: true }],
  [CLOSING, { status: 200, body: '', isKept: false }],
  [EMPTY, { status: 204, body: '', isKept: true }],
  [UNCHANGED, { status: 304, body: '', isKept: true }],
])('reads %j, at once and in two parts cut anywhere', (text, expected) => {
  expect(readIn(text)).toMatchObject(expected);
  for (let place = 1; place < text.length; place++) expect(readIn(text, place)).toMatchObject(expected);
});

test.each([LENGTH, CHUNKS, INTERIM, OLD, UNCHANGED])('takes nothing less than %j for an answer', (text) => {
  for (let length = 0; length < text.length; length++) expect(readIn(text.slice(0, length))).toBeUndefined();
});

test('keeps no connection that brought bytes behind an answer', () => {
  for (const text of [LENGTH, CHUNKS, INTERIM, UNCHANGED]) {
    expect(readIn(`${text}\n`)).toMatchObject({ isKept: false });
    expect(readIn(`${text}${LENGTH}`)).toMatchObject({ isKept: false });
  }
});

describe('refuses', () => {
  const head = (...lines: readonly string[]): string => `HTTP/1.1 200 OK\r\n${lines.join('\r\n')}\r\n\r\nhello`;

  test.each([
    ['another protocol, from its first byte', '220 mail'],
    ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a switch of the protocol', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n'],
    ['an interim answer that cannot be read', 'HTTP/1.1 100 Continue\r\nno header\r\n\r\n'],
    ['length and chunks', head('content-length: 5', 'transfer-encoding: chunked')],
    ['two lengths', head('content-length: 5', 'content-length: 5')],
    ['a negative length', head('content-length: -5')],
    ['a length in words', head('content-length: five')],
    ['no length', head('content-length:')],
    ['a length beyond 64 MB', head('content-length: 67108865')],
    ['another encoding', head('transfer-encoding: gzip, chunked')],
    ['chunks twice', head('transfer-encoding: chunked', 'transfer-encoding: chunked')],
    ['a line that goes on with the one before', head('x: a', ' b')],
    ['a space before the colon', head('content-length : 5')],
    ['a header without a name', head(': 5')],
    ['a line that ends in a line feed alone', head('x: a\ncontent-length: 5')],
    ['a carriage return within a line', head('x: a\rcontent-length: 5')],
    ['a zero byte', head('x: a\0')],
    ['a head beyond 16 KB', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(16 * 1024)}`],
    ['a whole head beyond 16 KB', head(`x: ${'y'.repeat(16 * 1024)}`)],
    ['interim answers beyond 16 KB', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(700)],
    ['a chunk without a length', `${head('transfer-encoding: chunked').slice(0, -5)}\r\nhello\r\n`],
    ['a chunk with a sign', `${head('transfer-encoding: chunked').slice(0, -5)}+5\r\nhello\r\n`],
    ['a chunk beyond 64 MB', `${head('transfer-encoding: chunked').slice(0, -5)}4000001\r\nhello\r\n`],
    ['a chunk longer than it said', `${head('transfer-encoding: chunked').slice(0, -5)}4\r\nhello\r\n`],
    ['a length behind the chunks', `${head('transfer-encoding: chunked').slice(0, -5)}0\r\ncontent-length: 5\r\n\r\n`],
  ])('%s', (_what, text) => {
    expect(() => readIn(text)).toThrow();
  });
});

/** What Node's client makes of the bytes, with which the connection ends; undefined where it is none, or cut. */
function nodeReads(text: string): Promise<Read | undefined> {
  const { promise, resolve } = Promise.withResolvers<Read | undefined>();
  const socket = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => {
      done();
    },
  });
  const request = http.request({ createConnection: () => socket, method: 'POST' });
  const refuse = (): void => {
    resolve(undefined);
  };
  request.on('error', refuse);
  request.on('upgrade', refuse);
  request.on('response', (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => void chunks.push(chunk));
    response.on('error', refuse);
    response.on('end', () => {
      const body = Buffer.concat(chunks).toString('latin1');
      if (response.complete) resolve({ status: response.statusCode, body, headers: response.headers });
    });
    response.on('close', refuse);
  });
  request.end('x');
  setImmediate(() => {
    socket.push(Buffer.from(text, 'latin1'));
    socket.push(null);
  });
  return promise;
}

const PIECES = [
  ...['\r\n', '\n', '\r', ' ', '\t', ':', ';', ',', '-', '+', '0', '1', 'f', 'g', '\0', '\x7F', '\xA0', '\xFF'],
  ...['chunked', 'close', 'HTTP/1.1', '\r\n\r\n', 'content-length: 3\r\n', 'Content-Length: 2\r\n', ' x: folded\r\n'],
  ...['transfer-encoding: chunked\r\n', 'transfer-encoding: gzip\r\n', 'connection: close\r\n'],
];

/** A good answer with up to three damages: something put in, taken out, or written over. */
function damaged(prng: Prng): string {
  let text = GOOD[prng.integer(0, GOOD.length - 1)] ?? '';
  for (let damages = prng.integer(1, 3); damages > 0; damages--) {
    const at = prng.integer(0, text.length);
    const piece = PIECES[prng.integer(0, PIECES.length - 1)] ?? '';
    const skipped = [0, prng.integer(1, 4), piece.length][prng.integer(0, 2)] ?? 0;
    text = text.slice(0, at) + (prng.chance(0.3) ? '' : piece) + text.slice(at + skipped);
  }
  return text;
}

test("reads what Node's client reads, in the same way, and of what that refuses only what stands before surplus bytes", async () => {
  const prng = new Prng(20_261_123n);
  const found = { same: 0, refusedByBoth: 0 };
  for (let n = 0; n < 1_000; n++) {
    const text = damaged(prng);
    const theirs = await nodeReads(text);
    let ours: ReturnType<typeof readIn>;
    try {
      ours = readIn(text);
    } catch {
      ours = undefined;
    }

    if (ours === undefined) found.refusedByBoth += theirs === undefined ? 1 : 0;
    else if (theirs === undefined) expect({ text, ...ours }).toMatchObject({ isKept: false });
    else {
      expect({ text, status: ours.status, body: ours.body }).toEqual({
        text,
        status: theirs.status,
        body: theirs.body,
      });
      found.same++;
    }
  }
  // The damages are neither too small to matter nor too large to pass.
  expect(found.same).toBeGreaterThan(100);
  expect(found.refusedByBoth).toBeGreaterThan(300);
});
