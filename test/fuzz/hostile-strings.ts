/** Texts that have broken software before, and as many more as chance can make of them: the same ones for the same seed. */
import fc from 'fast-check';

/** Contained in every hostile text that can hold it: a part of one in an expression is always noticed. */
export const MARK = 'zQ7';

const DYNAMO = [
  'pk',
  '#pk',
  ':now',
  'attribute_not_exists(#pk)',
  '#state = :ready OR attribute_exists(#pk)',
  'SET #state = :done REMOVE #session',
  'a) OR (1 = 1',
  'task#other#1',
  '%23',
  '%2523',
  '#',
  '%',
  '##',
  'session#x/session',
  '=',
  '/',
  '*2',
  'x/0=1',
];
const WEB_AND_SHELL = [
  "' OR '1'='1",
  '"; DROP TABLE tasks; --',
  '<script>alert(1)</script>',
  '../../etc/passwd',
  '$(reboot)',
  '`reboot`',
  '${7*7}',
  '{{7*7}}',
  '%s%n%x',
  '%E0%A4%A',
  '\r\nSet-Cookie: a=b',
];
const JAVASCRIPT = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'null',
  'undefined',
  'NaN',
  'Infinity',
  '-Infinity',
  'true',
  '[object Object]',
  '{"a":1}',
  '{"__proto__":{"state":"done"}}',
  '[]',
];
const NUMBERS = ['0', '-0', '-1', '1e3', '1e999', '0x10', '9007199254740993', '00', ' 1', '1 ', '1,5', '١٢', '1_000'];
const DURATIONS = ['30s', '-5m', '1 year', '99999999y', '1.5h', '.5s', '1e9s', 's', '30 s s', '5 minutes', '- 5m'];
const UNICODE = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\t\n\u000b',
  '\u0085\u2028\u2029',
  '\ufeffbom',
  '\ud800',
  '\udc00x',
  'x\ud83d',
  '👩‍👩‍👧‍👦',
  'é',
  'e\u0301',
  '\u202egnirts',
  'ﷺ',
  'İı',
  'ß',
  '\u{10ffff}',
  '\u200b',
  '𝒳𝓎𝓏',
  'Z̸̢͝a̷l̵g̶o̶',
];
const LONG = [
  'a'.repeat(511),
  'a'.repeat(512),
  'a'.repeat(513),
  'é'.repeat(256),
  'é'.repeat(257),
  '#'.repeat(512),
  '%'.repeat(700),
  'a'.repeat(2_048),
  'a'.repeat(70_000),
  `${'a'.repeat(60)}!`,
  '['.repeat(5_000),
  '{"a":'.repeat(5_000),
];

const WELL_KNOWN = [...DYNAMO, ...WEB_AND_SHELL, ...JAVASCRIPT, ...NUMBERS, ...DURATIONS, ...UNICODE, ...LONG];

/**
 * Every well-known text as it is and with the mark, then mixtures.
 * @param count at least twice the number of the well-known ones
 */
export function hostileStrings(count: number, seed: number): string[] {
  const known = WELL_KNOWN.flatMap((text) => [text, `${text}${MARK}`]);
  const piece = fc.oneof(
    fc.constantFrom(...WELL_KNOWN),
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc.string({ unit: 'grapheme', maxLength: 30 }),
    fc.string({ unit: fc.constantFrom(...Array.from('#%:/=*()\'"\\{}[]$ \u0000\ud800')) }),
  );
  const mixture = fc
    .tuple(piece, piece, fc.boolean())
    .map(([before, after, isSplit]) => (isSplit ? `${before}${MARK}${after}` : `${MARK}${before}${after}`));
  return [...known, ...fc.sample(mixture, { numRuns: count - known.length, seed })];
}
