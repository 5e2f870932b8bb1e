/** Commands of what stands on the library and may be taken away: a line each. */
export { consoleCommand } from '../console/command.ts';
export { consulCommand } from '../consul/command.ts';
