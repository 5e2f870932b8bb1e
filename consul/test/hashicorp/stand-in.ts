/**
 * The `consul` program that HashiCorp's test helper starts:
 * it requests a server with this configuration from the test, and keeps it for its own lifetime.
 *
 * The server is a gateway in the test's own process; this file only meets the helper's expectations of a program.
 * It imports nothing of the project, because the helper starts it twice for each of its tests.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

const [command, , configFile = ''] = process.argv.slice(2);
if (command === 'version') process.stdout.write('{"Version":"1.20.6"}\n');
else {
  const wish = connect(process.env.STAND_IN_SOCKET ?? '');
  wish.write(`${readFileSync(configFile, 'utf8')}\n`);
  wish.on('close', () => process.exit(1));
  process.once('SIGINT', () => process.exit(0));
}
