import { z } from 'zod'
import { changeKeyFor, createKeyFor, revokeKeyFor } from '#access/keys/key-acts.ts'
import { CreateKeyRequest, createKey, UpdateKeyRequest } from '#contract/operations/keys.ts'
import { PageRefusal } from '#host/pages/page-guards.ts'
import type { Me, NewKey, Notice } from '#pages/account/wire.ts'
import type { AccountRoutes, RouteContext } from './account-route.ts'
import { type AccountSession, seesAccount } from './account-sessions.ts'
import { figureRoutes, inputOf } from './figure-routes.ts'
import { topUpRoutes } from './wallets/top-up-routes.ts'

const KeysInput = z.strictObject({
  state: z.enum(['active', 'ended']).default('active'),
  after: z
    .string()
    .regex(/^[\w-]{1,100}$/, '`next` of the previous page')
    .optional(),
})
const RevokeInput = z.strictObject({ id: z.string().min(1).max(100) })

/** The keys of the account, with the same actions as `/api_keys` of the API. */
const keyRoutes: AccountRoutes = {
  'POST /account/api/keys': {
    isForAccount: true,
    run: ({ body, session }, { ask }) =>
      ask('keys', { account: session.principal.account, filter: inputOf(KeysInput, body) }),
  },
  'POST /account/api/keys/create': {
    isForAccount: true,
    async run({ body, session: { principal } }, context): Promise<NewKey> {
      const order = inputOf(CreateKeyRequest, body)
      if (await context.funding.isSuspended(principal.account))
        throw new PageRefusal(403, 'The operator has suspended this account.', 'Contact the operator.')
      if (principal.kind === 'wallet' && principal.isNew)
        throw new PageRefusal(409, 'This wallet has no account yet.', 'Top up first; that opens one.')
      await context.guards.take({ principal, address: '' }, { operation: createKey, model: null, tokens: 0 })
      const { id, secret } = await createKeyFor(context, principal, order)
      return { id, secret }
    },
  },
  'POST /account/api/keys/change': {
    isForAccount: true,
    async run({ body, session: { principal } }, context): Promise<Notice> {
      await changeKeyFor(context, principal, inputOf(UpdateKeyRequest, body))
      return { said: 'The key was changed.' }
    },
  },
  'POST /account/api/keys/revoke': {
    isForAccount: true,
    async run({ body, session: { principal } }, context): Promise<Notice> {
      await revokeKeyFor(context, principal, inputOf(RevokeInput, body).id)
      return { said: 'The key is revoked. Calls with it are now refused.' }
    },
  },
}

/** Who is signed in, and ending one session or all of them. */
const sessionRoutes: AccountRoutes = {
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

/** Every operation that the page's API offers to a session; a test requests each of them in each role. */
export const accountRoutes: AccountRoutes = { ...sessionRoutes, ...figureRoutes, ...keyRoutes, ...topUpRoutes }
