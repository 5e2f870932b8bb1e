import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { bundleEdge, openIsolate } from '../../../support/isolates.ts';

const PARTS = `export { connect, enqueuer, lockSession } from './api/edge.ts';`;
const gzippedKb = (text: string): number => gzipSync(text, { level: 9 }).length / 1024;

describe('the bundle of leasehold/edge', () => {
  test('asks its host for no module, and has nothing of Node, of the SDK, or of its transports in it', async () => {
    const { external, inputs, text } = await bundleEdge();

    expect(external).toEqual([]);
    expect(inputs.filter((file) => /@aws-sdk|@smithy|wire\/(http|destination|sdk|body|signature)/.test(file))).toEqual(
      [],
    );
    expect(inputs.filter((file) => file.includes('node_modules'))).toEqual([]);
    expect(text).not.toMatch(/from\s*"node:|require\("/);
  });

  test("loads with only the web's globals", async () => {
    const { exports: edge } = openIsolate(await bundleEdge());

    expect(Object.keys(edge)).toEqual(
      expect.arrayContaining(['createLeasehold', 'connect', 'lockSession', 'enqueuer']),
    );
  });

  test('has at most 37 KB gzipped for what locks and enqueues', async () => {
    const { text } = await bundleEdge(PARTS);

    expect(gzippedKb(text)).toBeLessThanOrEqual(37);
  });

  test('is as large as docs/edge.md says, within a twentieth', async () => {
    const guide = readFileSync(new URL('../../../../docs/edge.md', import.meta.url), 'utf8');
    const documentedKb = (size: RegExp): number => Number(size.exec(guide)?.[1]);
    const [whole, part] = [await bundleEdge(), await bundleEdge(PARTS)];

    expect(gzippedKb(whole.text) / documentedKb(/everything, about (\d+) KB gzipped/)).toBeCloseTo(1, 1);
    expect(gzippedKb(part.text) / documentedKb(/import parts, about (\d+) KB/)).toBeCloseTo(1, 1);
  });

  test('leaves out what a bundle that locks and enqueues does not use', async () => {
    const whole = await bundleEdge();
    const part = await bundleEdge(PARTS);

    expect(part.text.length).toBeLessThan(0.6 * whole.text.length);
  });
});
