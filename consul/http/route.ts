/**
 * Maps a request's target to its endpoint, as Go's router does for Consul.
 *
 * We use the target as it was sent, because a URL object would resolve the dots in a key, escaped ones included.
 * Literal dots, empty segments and a missing last slash get a redirect to the clean path.
 * Escaped ones belong to the key. A path with an unprintable character is refused.
 */
import path from 'node:path';

export type Route<T> =
  /** `pattern`: as it was registered; `rest`: what follows it, decoded; `query`: without its question mark. */
  | {
      readonly kind: 'found';
      readonly endpoint: T;
      readonly pattern: string;
      readonly rest: string;
      readonly query: string;
    }
  | { readonly kind: 'moved'; readonly location: string }
  | { readonly kind: 'refused'; readonly status: 400 | 404; readonly text: string };

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;
/** Characters that Go's `unicode.IsPrint` rejects. The plain space is the only printable space. */
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;
const UNKNOWN = 'Invalid URL path: not a recognized HTTP API endpoint\n';

/** @param endpoints by path; a path that ends in a slash is followed by a name */
export function routeOf<T>(target: string, endpoints: ReadonlyMap<string, T>): Route<T> {
  const [sent, query] = splitOnce(splitOnce(target.replace(ORIGIN, ''), '#')[0], '?');
  const decoded = decode(sent);
  if (decoded === undefined)
    return { kind: 'refused', status: 400, text: `invalid URL escape in ${JSON.stringify(sent.slice(0, 80))}` };
  if (UNPRINTABLE.test(decoded)) return { kind: 'refused', status: 400, text: '' };
  const clean = path.posix.normalize(sent.startsWith('/') ? sent : `/${sent}`);
  const suffix = query === '' ? '' : `?${query}`;
  if (!endpoints.has(clean) && endpoints.has(`${clean}/`)) return { kind: 'moved', location: `${clean}/${suffix}` };
  if (clean !== sent) return { kind: 'moved', location: `${clean}${suffix}` };
  const pattern = endpoints.has(clean) ? clean : prefixOf(clean, endpoints);
  const endpoint = pattern === undefined ? undefined : endpoints.get(pattern);
  if (pattern === undefined || endpoint === undefined) return { kind: 'refused', status: 404, text: UNKNOWN };
  return { kind: 'found', endpoint, pattern, rest: decode(clean.slice(pattern.length)) ?? '', query };
}

/** Returns the longest registered path that ends in a slash and begins this one, except the root. */
function prefixOf(clean: string, endpoints: ReadonlyMap<string, unknown>): string | undefined {
  for (let at = clean.lastIndexOf('/'); at > 0; at = clean.lastIndexOf('/', at - 1)) {
    const prefix = clean.slice(0, at + 1);
    if (endpoints.has(prefix)) return prefix;
  }
  return undefined;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function splitOnce(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
