/** `RequestSigner` signs with AWS's own Signature Version 4: the headers that a request needs, and no others. */
import { createHmac, hash } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import type { Credentials } from './credentials.ts';

export interface Unsigned {
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** SHA-256 and its HMAC of Node's crypto, as the signer asks for them: each of one piece of data. */
class Sha256 {
  readonly #secret: string | Uint8Array | undefined;
  #data: Uint8Array = new Uint8Array();

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#secret = secret as string | Uint8Array | undefined; // The signer has its keys in no other form.
  }

  update(data: Uint8Array): void {
    this.#data = data;
  }

  digest(): Promise<Uint8Array> {
    const data = this.#data;
    const digest =
      this.#secret === undefined
        ? hash('sha256', data, 'buffer')
        : createHmac('sha256', this.#secret).update(data).digest();
    return Promise.resolve(digest);
  }

  reset(): void {
    this.#data = new Uint8Array();
  }
}

/** Credentials and region of a signature. */
export interface Signatory {
  readonly region: string;
  readonly credentials: Credentials;
}

export class RequestSigner {
  readonly #service: string;
  /** The signer of the latest credentials: they change every few hours. */
  #latest: { readonly by: Signatory; readonly signer: SignatureV4 } | undefined;

  /** @param service as AWS names it: `dynamodb` */
  constructor(service: string) {
    this.#service = service;
  }

  /** Returns the headers to send, `host` included. @param now epoch milliseconds */
  async sign({ host, path, headers, body }: Unsigned, by: Signatory, now: number): Promise<Record<string, string>> {
    const request = { method: 'POST', protocol: 'https:', hostname: host, path, headers: { host, ...headers }, body };
    const signed = await this.#signerOf(by).sign(request, { signingDate: new Date(now) });
    return signed.headers;
  }

  #signerOf({ region, credentials }: Signatory): SignatureV4 {
    const { by, signer: known } = this.#latest ?? {};
    if (known !== undefined && by?.credentials === credentials && by.region === region) return known;
    const settings = { service: this.#service, region, credentials, sha256: Sha256, applyChecksum: false };
    const signer = new SignatureV4(settings);
    this.#latest = { by: { region, credentials }, signer };
    return signer;
  }
}
