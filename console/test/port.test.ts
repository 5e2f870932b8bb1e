import { Server } from 'node:http';
import { afterEach, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { openConsole } from './support/console.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

// As for a port below 1024; the user who runs the tests may have the right to those.
test('reports that it may not listen on its port', async () => {
  vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server) {
    process.nextTick(() => this.emit('error', Object.assign(new Error('listen EACCES'), { code: 'EACCES' })));
    return this;
  });

  const opening = openConsole({ endpoint: 'http://127.0.0.1:9', table: 'none' }, { port: 80 });

  await expect(opening).rejects.toThrow(ConfigurationError);
  await expect(opening).rejects.toThrow(
    'cannot listen on 127.0.0.1 port 80 (EACCES): choose another, or 0 for any that is free',
  );
});
