const assert = require('node:assert/strict');
const entries = ['leasehold', 'leasehold/tasks', 'leasehold/testing', 'leasehold/middy', 'leasehold/worker'];
for (const entry of entries) assert.ok(Object.keys(require(entry)).length > 0, entry);
console.log(`${entries.length} entries required`);
