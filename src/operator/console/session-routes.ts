import type { Me, Notice } from '#pages/console/wire.ts'
import type { ConsoleRoutes } from './console-route.ts'

/** Routes for the operator's own session, and for all sessions. */
export const sessionRoutes: ConsoleRoutes = {
  'GET /api/me': {
    role: 'read',
    async run({ session: { role, by, untilMs } }, { settings: { publicUrl }, ledger }): Promise<Me> {
      return { role, by, untilMs, publicUrl, ledger: await ledger.state() }
    },
  },
  'POST /api/sign-out': {
    role: 'read',
    async run({ session }, { sessions }): Promise<Notice> {
      await sessions.end(session)
      return { said: 'Signed out.' }
    },
  },
  'POST /api/sign-out-all': {
    role: 'owner',
    async run(_, { sessions }): Promise<Notice> {
      const ended = await sessions.endAll()
      return { said: `Ended ${ended} ${ended === 1 ? 'session' : 'sessions'}, including this one.` }
    },
  },
}
