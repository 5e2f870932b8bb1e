/**
 * Packing text, where the host can do it at once.
 * The web has streams for it, which answer later:
 * a host without Node's `zlib` writes text as it is, and says that it cannot read what is packed.
 */
import { hostModule } from './host.ts';

const zlib = hostModule('node:zlib');

/** Raw deflate; undefined where the host has none. */
export function deflated(text: string): Uint8Array | undefined {
  const packed = zlib?.deflateRawSync?.(text, { level: 9 });
  return packed && new Uint8Array(packed);
}

/** Undefined where the host cannot. @throws Error when it is not packed text, or longer than `limitBytes` */
export function inflatedText(bytes: Uint8Array, limitBytes: number): string | undefined {
  return zlib?.inflateRawSync?.(bytes, { maxOutputLength: limitBytes }).toString();
}
