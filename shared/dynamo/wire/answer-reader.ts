/**
 * Reads one HTTP/1.1 answer from the bytes of a connection, as they come.
 *
 * It is strict, because a wrong guess at where an answer ends would give one caller the answer of another:
 * whatever is not plainly an answer throws, and the connection is closed.
 * Bytes behind a whole answer leave the answer good, and the connection is closed all the same.
 */
import type { Answer } from './answer.ts';
import { MAX_ANSWER_BYTES } from './answer.ts';

/** As much as `node:http` reads of a head; interim answers, and what follows the last chunk, count too. */
const MAX_HEAD_BYTES = 16 * 2 ** 10;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7E\x80-\xFF]*)?$/;
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\t\x20-\x7E\x80-\xFF]*$/;
const CHUNK_LINE = /^([0-9A-Fa-f]{1,8})(?:;[\t\x20-\x3A\x3C-\x7E\x80-\xFF]+)*$/;
const AROUND = /^[\t ]+|[\t ]+$/g;
/** Behind a body they would be too late. */
const FRAMING = new Set(['content-length', 'transfer-encoding']);
const BEGINNING = 'HTTP/1.';

type Headers = Record<string, string | undefined>;

/** What the next bytes are; `untilClosed` has no other end than that of the connection. */
type Expected = 'head' | 'body' | 'untilClosed' | 'chunkLine' | 'chunk' | 'chunkEnd' | 'trailer' | 'nothing';

export class AnswerReader {
  #expected: Expected = 'head';
  #status = 0;
  #headers: Headers = {};
  #isKept = true;
  /** The beginning of a head or a line whose end has not come. */
  #unread: Buffer | undefined;
  #headBytes = 0;
  #parts: Buffer[] = [];
  #length = 0;
  #missing = 0;

  /** Whether another answer may follow on the same connection, once this one is whole. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /**
   * @param bytes may be overwritten afterwards
   * @returns the answer, once it is whole
   * @throws Error where this is none
   */
  read(bytes: Buffer): Answer | undefined {
    let rest = this.#unread === undefined ? bytes : Buffer.concat([this.#unread, bytes]);
    this.#unread = undefined;
    while (this.#expected !== 'nothing') {
      const used = this.#step(rest);
      if (used === undefined) {
        if (rest.length > 0) this.#unread = Buffer.from(rest);
        return undefined;
      }
      rest = rest.subarray(used);
    }
    if (rest.length > 0) this.#isKept = false;
    return this.#answer();
  }

  /** The other side has ended. @returns the answer, unless that cuts it */
  end(): Answer | undefined {
    return this.#expected === 'untilClosed' ? this.#answer() : undefined;
  }

  /** @returns how many bytes it has used; undefined while more are needed */
  #step(bytes: Buffer): number | undefined {
    switch (this.#expected) {
      case 'head':
        return this.#readHead(bytes);
      case 'body':
      case 'chunk':
        return this.#readBody(bytes);
      case 'untilClosed':
        if (bytes.length === 0) return undefined;
        this.#keep(bytes);
        return bytes.length;
      case 'nothing':
        return 0;
      default:
        return this.#readLine(bytes);
    }
  }

  #readHead(bytes: Buffer): number | undefined {
    const end = bytes.indexOf('\r\n\r\n');
    if (end === -1) {
      const start = bytes.toString('latin1', 0, BEGINNING.length);
      if (start !== BEGINNING.slice(0, start.length)) throw broken('what came is not HTTP');
      this.#countHead(bytes.length, 0);
      return undefined;
    }
    this.#countHead(end, end + 4);
    const lines = bytes.toString('latin1', 0, end).split('\r\n');
    const [, minor, status] = STATUS_LINE.exec(lines[0] ?? '') ?? [];
    if (status === undefined) throw broken('what came is not HTTP');
    this.#status = Number(status);
    this.#headers = headersOf(lines);
    // No request asks for another protocol; behind any other interim answer comes the one that counts.
    if (this.#status === 101) throw broken('the protocol was switched');
    if (this.#status >= 200) this.#expectBody(minor === '1');
    return end + 4;
  }

  /** @param counted what is certainly of a head by now @param used what the next head comes on top of */
  #countHead(counted: number, used: number): void {
    if (this.#headBytes + counted > MAX_HEAD_BYTES) throw broken(`its head is longer than ${MAX_HEAD_BYTES} bytes`);
    this.#headBytes += used;
  }

  #expectBody(isNew: boolean): void {
    const {
      'content-length': length,
      'transfer-encoding': encoding,
      connection = isNew ? '' : 'close',
    } = this.#headers;
    this.#isKept = !/(^|[, \t])close($|[, \t])/i.test(connection);
    if (length !== undefined && (encoding !== undefined || !/^\d{1,15}$/.test(length)))
      throw broken('its length is not clear');
    if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') throw broken(`it is encoded as ${encoding}`);
    if (this.#status === 204 || this.#status === 304) this.#expected = 'nothing';
    else if (encoding !== undefined) this.#expected = 'chunkLine';
    else if (length === undefined) {
      this.#expected = 'untilClosed';
      this.#isKept = false;
    } else this.#expectBytes(Number(length), 'body');
  }

  #expectBytes(count: number, as: 'body' | 'chunk'): void {
    if (this.#length + count > MAX_ANSWER_BYTES) throw tooLong();
    this.#missing = count;
    this.#expected = as === 'body' && count === 0 ? 'nothing' : as;
  }

  #readBody(bytes: Buffer): number | undefined {
    if (bytes.length === 0) return undefined;
    const used = Math.min(bytes.length, this.#missing);
    this.#keep(bytes.subarray(0, used));
    this.#missing -= used;
    if (this.#missing === 0) this.#expected = this.#expected === 'chunk' ? 'chunkEnd' : 'nothing';
    return used;
  }

  #keep(bytes: Buffer): void {
    this.#length += bytes.length;
    if (this.#length > MAX_ANSWER_BYTES) throw tooLong();
    this.#parts.push(Buffer.from(bytes));
  }

  #readLine(bytes: Buffer): number | undefined {
    const end = bytes.indexOf('\r\n');
    if (end === -1) {
      this.#countHead(bytes.length, 0);
      return undefined;
    }
    const line = bytes.toString('latin1', 0, end);
    if (this.#expected === 'chunkEnd') {
      if (line !== '') throw broken('a chunk is longer than it said');
      this.#expected = 'chunkLine';
    } else if (this.#expected === 'chunkLine') {
      const [, size] = CHUNK_LINE.exec(line) ?? [];
      if (size === undefined) throw broken('a chunk does not say how long it is');
      const count = Number.parseInt(size, 16);
      if (count === 0) {
        this.#expected = 'trailer';
        this.#headBytes = 0;
      } else this.#expectBytes(count, 'chunk');
    } else {
      this.#countHead(end, end + 2);
      if (line === '') this.#expected = 'nothing';
      else if (FRAMING.has(headerOf(line)[0])) throw broken('its length is said twice');
    }
    return end + 2;
  }

  #answer(): Answer {
    const [first] = this.#parts;
    const body = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts);
    return { status: this.#status, headers: this.#headers, body };
  }
}

function headersOf([, ...lines]: readonly string[]): Headers {
  const headers = Object.create(null) as Headers;
  for (const line of lines) {
    const [name, value] = headerOf(line);
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return headers;
}

/** @throws Error also for a line that goes on with the one before it, which no server sends any more */
function headerOf(line: string): readonly [name: string, value: string] {
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(0, colon));
  const value = line.slice(colon + 1);
  if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) throw broken('a line of its head cannot be read');
  return [name.toLowerCase(), value.replace(AROUND, '')];
}

function tooLong(): Error {
  return broken(`the answer is longer than ${MAX_ANSWER_BYTES} bytes`);
}

function broken(message: string): Error {
  return Object.assign(new Error(message), { code: 'BrokenAnswer' });
}
