#!/usr/bin/env node
/** `npm create leasehold`: runs `leasehold init`. */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const manifest = createRequire(import.meta.url).resolve('leasehold/package.json');
process.argv.splice(2, 0, 'init');
await import(new URL('api/command.js', pathToFileURL(manifest)).href);
