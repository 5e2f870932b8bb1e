import { defineTask } from 'leasehold/tasks';

export const greet = defineTask({
  name: 'greet',
  run: ({ name }: { readonly name: string }) => `hello ${name}`,
});
