import type { Request } from '@middy/core';

/** What Lambda tells a handler about its invocation, as middy types it. */
export type Context = Request['context'];
