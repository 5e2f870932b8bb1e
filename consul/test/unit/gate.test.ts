import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../http/gate.ts';

const ask = (headers: Readonly<Record<string, string>>) =>
  refusalOf({ headers: new Headers(headers) } as unknown as Request);
const host = '127.0.0.1:8500';

describe('a gateway without tokens', () => {
  test.each([
    [{ host }],
    [{ host: 'localhost:8500' }],
    [{ host: '[::1]:8500' }],
    [{ host: '127.0.0.1' }],
    [{ host, 'sec-fetch-site': 'none' }],
    [{ host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }],
  ])('lets in %j', (headers) => {
    expect(ask(headers)).toBeUndefined();
  });

  test.each([
    [{}],
    [{ host: 'consul.example:8500' }],
    [{ host: '127.0.0.1.example:8500' }],
    [{ host: '192.0.2.7:8500' }],
    [{ host, origin: 'https://example.com' }],
    [{ host, origin: 'null' }],
    [{ host, origin: 'http://127.0.0.1:3000' }],
    [{ host, 'sec-fetch-site': 'cross-site' }],
    [{ host, 'sec-fetch-site': 'same-site' }],
  ])('refuses %j', (headers) => {
    expect(ask(headers)).toBeTypeOf('string');
  });
});
