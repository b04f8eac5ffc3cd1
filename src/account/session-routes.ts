import type { Me, Notice } from '#pages/account/wire.ts'
import type { AccountRoutes, RouteContext } from './account-route.ts'
import { type AccountSession, seesAccount } from './account-sessions.ts'

/** Who is signed in, and ending one session or all of them. */
export const sessionRoutes: AccountRoutes = {
  'GET /account/api/me': { run: ({ session }, context) => me(session, context) },
  'POST /account/api/sign-out': {
    async run({ session }, { sessions }): Promise<Notice> {
      await sessions.end(session)
      return { said: 'Signed out.' }
    },
  },
  'POST /account/api/sign-out-all': {
    async run({ session }, { sessions }): Promise<Notice> {
      const ended = await sessions.endAll(session)
      return { said: `Ended ${ended} ${ended === 1 ? 'session' : 'sessions'}, including this one.` }
    },
  },
}

async function me({ principal, key, untilMs }: AccountSession, context: RouteContext): Promise<Me> {
  const { account } = principal
  const { store, funding, settings, clock } = context
  const [named, isSuspended] = await Promise.all([
    store.read.selectFrom('customer').select('name').where('account', '=', account).executeTakeFirst(),
    funding.isSuspended(account),
  ])
  return {
    kind: principal.kind,
    who: principal.kind === 'wallet' ? principal.wallet : key?.label || `${key?.prefix}…`,
    ...{ account, name: named?.name ?? null, seesAccount: seesAccount(principal) },
    state: isSuspended ? 'suspended' : 'active',
    ...{ untilMs, publicUrl: settings.publicUrl, nowMs: clock.now() },
  }
}
