import { z } from 'zod'
import { changeKeyFor, createKeyFor, revokeKeyFor } from '#access/keys/key-acts.ts'
import { CreateKeyRequest, createKey, UpdateKeyRequest } from '#contract/operations/keys.ts'
import { PageRefusal } from '#host/pages/page-refusal.ts'
import type { NewKey, Notice } from '#pages/account/wire.ts'
import type { AccountRoutes } from './account-route.ts'
import { inputOf } from './figure-routes.ts'

const KeysInput = z.strictObject({
  state: z.enum(['active', 'ended']).default('active'),
  after: z
    .string()
    .regex(/^[\w-]{1,100}$/, '`next` of the previous page')
    .optional(),
})
const RevokeInput = z.strictObject({ id: z.string().min(1).max(100) })

/** The keys of the account, with the same actions as `/api_keys` of the API. */
export const keyRoutes: AccountRoutes = {
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
