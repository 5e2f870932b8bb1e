import { inject, describe, expect, test } from 'vitest';
import { startExample } from '../support/example-process.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('the example of a leader with observers', () => {
  const shared = ['--endpoint', endpoint ?? '', '--election', `election-${process.pid}`];
  const candidate = (name: string) =>
    startExample('examples/leader/candidate.ts', [...shared, '--name', name, '--ttl', '2s', '--lock-delay', '1s']);

  test('shows one leader a term, the next one after a resignation and after a death, and terms that grow', async () => {
    await using ann = candidate('ann');
    await ann.said(/ann: leading in term (\d+)/);
    await using observer = startExample('examples/leader/observer.ts', shared);
    await observer.said(/ann on .* leads: I am ann/);
    await using bob = candidate('bob');
    await bob.said(/bob: campaigning/);

    ann.kill('SIGINT');
    expect(await ann.ended()).toBe(0);
    await bob.said(/bob: leading in term/);
    await using cid = candidate('cid');
    await cid.said(/cid: campaigning/);
    bob.kill('SIGKILL');
    await cid.said(/cid: leading in term/);
    await observer.said(/cid on .* leads/);
    observer.kill('SIGINT');
    expect(await observer.ended()).toBe(0);

    const termOf = (name: string, output: string): number =>
      Number(new RegExp(`${name}: leading in term (\\d+)`).exec(output)?.[1]);
    const terms = [termOf('ann', ann.output), termOf('bob', bob.output), termOf('cid', cid.output)];
    expect(terms).toEqual(terms.toSorted((a, b) => a - b));
    expect(new Set(terms).size).toBe(3);
    const observed = [...observer.output.matchAll(/^term (\d+):/gm)].map(([, term]) => Number(term));
    expect(observed).toEqual(observed.toSorted((a, b) => a - b));
  });
});
