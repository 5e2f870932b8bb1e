/** Holders elsewhere, that a session's id alone makes known: as a gateway's callers. */
import { DEFAULT_MAX_CLOCK_SKEW_MS } from '../../shared/core/lease/timing.ts';
import type { Party } from './scene.ts';
import { scene } from './scene.ts';
import { stamped } from './steps.ts';

const CONTENT = { value: 'host-2', consul: { lockIndex: 1 } };
const opened = async ({ here }: Party) => {
  const settings = { id: 'remote', name: 'remote', node: 'host-2', ttlMs: 15_000, lockDelayMs: 0 };
  const more = { behaviour: 'release', remote: true, ...stamped(here) } as const;
  await here.ports.sessions.create({ ...settings, ...more });
};

export const REMOTE = [
  scene('session.renewRemote', 'renew a remote session', {
    before: opened,
    act: ({ here }) => {
      const stamp = stamped(here);
      const expiredBefore = stamp.now - DEFAULT_MAX_CLOCK_SKEW_MS;
      return here.ports.sessions.renewRemote({ id: 'remote', expiredBefore, ...stamp });
    },
  }),
  scene('lock.commit', 'write several keys at once', {
    before: async (party) => {
      await opened(party);
      const { here } = party;
      const openBefore = here.runtime.clock.now() - DEFAULT_MAX_CLOCK_SKEW_MS;
      const request = { key: 'k', session: 'remote', content: CONTENT, isListed: true, openBefore };
      const taken = await here.ports.locks.acquire(request, stamped(here));
      return taken.kind === 'applied' ? [taken.row] : [];
    },
    act: ({ here }, unchanged) => {
      const write = { kind: 'put', key: 'j', observed: undefined, content: CONTENT } as const;
      return here.ports.locks.commit([write], { unchanged, absent: [], live: [] }, new Map(), stamped(here));
    },
  }),
];
