import type { Request } from '@middy/core';

/** Lambda's context of an invocation, as middy types it. */
export type Context = Request['context'];
