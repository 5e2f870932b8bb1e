import { createLeasehold } from 'leasehold/edge';

const asked = [];
const leasehold = createLeasehold({
  table: 'leasehold',
  region: 'eu-west-1',
  credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
  fetch: async (url, { body }) => {
    asked.push(`${url} ${JSON.parse(body).Key.pk.S}`);
    return new Response('{}');
  },
});
if ((await leasehold.tasks.get('greeting')) !== undefined) throw new Error('a task that is not there');
console.log(asked.join());
