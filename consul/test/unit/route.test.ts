import { describe, expect, test } from 'vitest';
import { routeOf } from '../../http/route.ts';

const endpoints = new Map([
  ['/', 'root'],
  ['/v1/kv/', 'kv'],
  ['/v1/txn', 'txn'],
  ['/v1/session/destroy/', 'destroy'],
]);
const route = (target: string) => routeOf(target, endpoints);

describe('routeOf', () => {
  test.each([
    ['/v1/kv/a', 'kv', 'a'],
    ['/v1/kv/', 'kv', ''],
    ['/v1/kv/a/', 'kv', 'a/'],
    ['/v1/kv/a/%2e%2e/b', 'kv', 'a/../b'],
    ['/v1/kv/%2e%2e/%2e%2e/txn', 'kv', '../../txn'],
    ['/v1/kv/a%2F%2Fb', 'kv', 'a//b'],
    ['/v1/kv/a%20b+c', 'kv', 'a b+c'],
    ['/v1/kv/%C3%BC?x=%2e', 'kv', 'ü'],
    ['/v1/kv/...', 'kv', '...'],
    ['http://127.0.0.1:8500/v1/kv/a?x', 'kv', 'a'],
    ['/v1/txn', 'txn', ''],
    ['/', 'root', ''],
  ])('%s is %s with the rest %j', (target, endpoint, rest) => {
    expect(route(target)).toMatchObject({ kind: 'found', endpoint, rest });
  });

  test.each([
    ['/v1/kv', '/v1/kv/'],
    ['/v1/kv?keys', '/v1/kv/?keys'],
    ['/v1/session/destroy', '/v1/session/destroy/'],
    ['/v1/kv/a//b', '/v1/kv/a/b'],
    ['/v1/kv/a/../b?raw', '/v1/kv/b?raw'],
    ['/v1/kv/./a', '/v1/kv/a'],
    ['//v1/kv/a/', '/v1/kv/a/'],
    ['/v1/kv/..', '/v1'],
  ])('%s is moved to %s', (target, location) => {
    expect(route(target)).toEqual({ kind: 'moved', location });
  });

  test.each(['/v1/kv/a%00b', '/v1/kv/a%09', '/v1/kv/a%0Ab', '/v1/kv/a%7F', '/v1/kv/%E2%80%8B', '/v1/kv/%C2%A0'])(
    '%s is refused: it has something unprintable',
    (target) => {
      expect(route(target)).toEqual({ kind: 'refused', status: 400, text: '' });
    },
  );

  test.each(['/v1/kv/%', '/v1/kv/%E0%A4%A', '/v1/kv/%FF'])('%s is refused: it is no text', (target) => {
    expect(route(target)).toMatchObject({ kind: 'refused', status: 400 });
  });

  test.each(['/v1/txn/', '/v1/unknown', '/v1/session/renew/x', '/v2/kv/a', '/nothing'])('%s is unknown', (target) => {
    expect(route(target)).toMatchObject({ kind: 'refused', status: 404 });
  });
});
