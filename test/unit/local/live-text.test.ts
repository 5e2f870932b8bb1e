import { expect, test } from 'vitest';
import { liveText } from '../../../local/live-text.ts';

const ESC = String.fromCodePoint(27);

test('replaces what it showed, keeps persisted lines, and cuts lines to the width', () => {
  const written: string[] = [];
  const terminal = { columns: 10, rows: 24, write: (text: string) => written.push(text) > 0 };
  const live = liveText(terminal as unknown as NodeJS.WriteStream);

  live.show('one\ntwo');
  live.persist('kept');
  live.show('a line that is too long');
  live.end();
  live.show('next');
  live.clear();

  const erased = (lines: number) => `${Array(lines).fill(`${ESC}[2K`).join(`${ESC}[1A`)}${ESC}[G`;
  expect(written).toEqual([
    'one\ntwo\n',
    `${erased(3)}kept\none\ntwo\n`,
    `${erased(3)}a line t…\n`,
    'next\n',
    erased(2),
  ]);
});
