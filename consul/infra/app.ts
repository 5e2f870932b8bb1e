/** The example deployment with the gateway on its table: `npm run deploy -- --app 'node consul/infra/app.ts'`. */
import { deployment } from '../../infra/deployment.ts';
import { addConsul } from './consul-gateway.ts';

const { stack, isProduction } = deployment();
addConsul(stack, isProduction);
