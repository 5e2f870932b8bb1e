/** The main program of an example that throws while one of its processes runs; that process reports if it still exists after a while. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { endingWith } from '../../../examples/claims.ts';

const WORKER = `process.send('at work'); setTimeout(() => { console.log('left behind'); process.exit(); }, 3_000);`;

const worker = spawn(process.execPath, ['-e', WORKER], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
using _processes = endingWith([worker]);
await once(worker, 'message');
throw new Error('the example fails');
