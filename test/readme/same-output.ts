/** Whether a program has said what a document shows: ports, tokens and ids are others each time. */
export function sameOutput(said: string, shown: string): boolean {
  return withoutAccidents(said) === withoutAccidents(shown);
}

function withoutAccidents(text: string): string {
  return text
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .trim();
}
