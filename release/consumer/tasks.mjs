import { defineTask } from 'leasehold/tasks';

export const greet = defineTask({ name: 'greet', run: ({ name }) => `hello ${name}` });
