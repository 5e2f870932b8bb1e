/** The lists of models and switches agree with the modules, and the checker's output is read as it is meant. */
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LARGER } from './larger.ts';
import { MODELS } from './models.ts';
import { REDUNDANT } from './redundant.ts';
import { SWITCHES } from './switches.ts';
import { readOutput } from './tlc.ts';

test('each way of breaking the models is found by one of them, or has a reason why not', () => {
  const folder = new URL('./', import.meta.url);
  const modules = readdirSync(folder).filter((name) => name.endsWith('.tla'));
  const texts = modules.map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const inModules = texts.flatMap((text) => [...text.matchAll(/\bB\("(\w+)"\)/g)].map(([, name]) => String(name)));
  const listed = [...SWITCHES.flatMap(({ broken }) => broken), ...Object.keys(REDUNDANT)];

  expect([...new Set(listed)].sort()).toEqual([...new Set(inModules)].sort());
  expect(SWITCHES.filter(({ model }) => MODELS.every(({ name }) => name !== model))).toEqual([]);
  const alone = SWITCHES.flatMap(({ broken }) => (broken.length === 1 ? broken : []));
  expect(alone.filter((name) => name in REDUNDANT)).toEqual([]);
});

test('gives each model a unique name for the checker', () => {
  const names = [...MODELS, ...LARGER].map(({ name }) => name);

  expect(new Set(names).size).toBe(names.length);
});

test('an exhausted run of the checker is read with its states, its depth and its actions', () => {
  const output = [
    'Model checking completed. No error has been found.',
    '<Claim line 72, col 1 to line 72, col 8 of module Task>: 826:893',
    '623,843 states generated, 133,201 distinct states found, 0 states left on queue.',
    'The depth of the complete state graph search is 28.',
  ].join('\n');

  expect(readOutput(output)).toMatchObject({
    end: 'exhausted',
    generated: 623_843,
    distinct: 133_201,
    depth: 28,
    actions: new Map([['Claim', 893]]),
  });
});

test('a violation that the checker found is read with its invariant and its steps', () => {
  const output = [
    'Error: Invariant I0_Told is violated.',
    'State 1: <Initial predicate>',
    'State 2: <Create line 1, col 1 to line 2, col 2 of module Holder>',
    'State 3: <Claim line 1, col 1 to line 2, col 2 of module Task>',
    '61 states generated, 40 distinct states found, 9 states left on queue.',
  ].join('\n');

  expect(readOutput(output)).toMatchObject({ end: 'violated', violated: { what: 'I0_Told', steps: 2 } });
});

test('fails a run that ends without a verdict', () => {
  expect(readOutput('Parsing or semantic analysis failed.').end).toBe('failed');
});
