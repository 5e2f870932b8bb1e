// @ts-expect-error -- the missing package is the point
export { handler } from 'no-such-package-anywhere';
