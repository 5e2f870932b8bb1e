/** Which modules have a handler, and what Lambda says of the others. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeError, loadHandler } from '../../../examples/platform/lambda/handler-module.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'leasehold-handler-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** Its first line, without the place, which differs from machine to machine. */
async function loaded(name: string, text: string): Promise<string> {
  const entry = path.join(folder, `${name}.mjs`);
  await writeFile(entry, text);
  const common = { type: 'init', functionName: 'f', memoryMb: 128, logGroupName: 'g', logStreamName: 's' } as const;
  const found = await loadHandler({ ...common, entry, handler: 'handler' });
  if (found.kind === 'loaded') return `loaded, and answers ${JSON.stringify(await found.handler(1, {} as never))}`;
  const { errorType, errorMessage, trace = [] } = found.error;
  const [line = ''] = errorMessage.replaceAll(folder, 'FOLDER').split('\n');
  return `${errorType}: ${line}${trace.length === 0 ? '' : ', with a trace'}`;
}

test.each([
  ['none', 'export const handler = () => 5;', 'loaded, and answers 5'],
  ['two', 'export const handler = async (event, context) => event;', 'loaded, and answers 1'],
  [
    'three',
    'export const handler = (event, context, callback) => callback();',
    "Runtime.CallbackHandlerDeprecated: handler takes a callback, which Lambda's Node.js 24 runtime no longer supports: return a promise instead",
  ],
  [
    'other',
    'export const other = 1;',
    'Runtime.HandlerNotFound: handler is undefined or not exported by FOLDER/other.mjs',
  ],
  [
    'value',
    'export const handler = {};',
    'Runtime.HandlerNotFound: handler is undefined or not exported by FOLDER/value.mjs',
  ],
  ['throwing', "throw new RangeError('too far');", 'RangeError: too far, with a trace'],
  ['text', "throw 'a text';", 'string: a text'],
])('a module with %s', async (name, text, found) => {
  expect(await loaded(name, text)).toBe(found);
});

test('a module that imports what does not exist', async () => {
  expect(await loaded('importing', "import './missing-file.mjs';")).toMatch(/^Runtime\.ImportModuleError: /);
});

test('each thrown value has a type, a message and a trace', () => {
  const named = Object.assign(new Error('m'), { name: 'Mine', stack: 'Mine: m\n    at f' });

  expect([named, Object.assign(new Error('m'), { stack: undefined }), 7, undefined, null].map(describeError)).toEqual([
    { errorType: 'Mine', errorMessage: 'm', trace: ['Mine: m', '    at f'] },
    { errorType: 'Error', errorMessage: 'm', trace: [''] },
    { errorType: 'number', errorMessage: '7', trace: [] },
    { errorType: 'undefined', errorMessage: 'undefined', trace: [] },
    { errorType: 'object', errorMessage: 'null', trace: [] },
  ]);
});
