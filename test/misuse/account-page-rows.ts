import { openAccount } from '../account/opened-account.ts'
import { answered, byUser, misusedPage, type PageMistake } from './page-mistake.ts'

type Opened = Awaited<ReturnType<typeof open>>

async function open() {
  const account = await openAccount()
  const { account: customer, key, keyId } = await account.newKey({ label: 'Office' })
  const inference = await account.newKey({ account: customer, role: 'INFERENCE' })
  const ended = await account.newKey({ account: customer })
  const admin = await account.signIn(key)
  const revoked = { ...(await account.signIn(ended.key)), secret: ended.key }
  await account.act('keys/revoke', { id: ended.keyId }, admin)
  return {
    ...{ account, admin, revoked, plain: await account.signIn(inference.key) },
    names: [[keyId, 'KEY']] as const,
    close: account.close,
  }
}

type Row = PageMistake<Opened>

/** A form of the page of an ADMIN key. */
const acted = (what: string, name: string, body: unknown, status = 400, as: 'admin' | 'plain' = 'admin'): Row => [
  what,
  async opened => answered(await opened.account.act(name, body, opened[as])),
  status,
]

const signedInWith = (what: string, key: unknown): Row => [
  what,
  async ({ account }) => answered(await account.spend(key)),
  401,
]

const visited = (what: string, path: string, status: number, init: RequestInit = {}): Row => [
  what,
  async ({ account }) => answered(await account.ask(path, { ...init, headers: { ...byUser, ...init.headers } })),
  status,
]

const budgetOf = (usd: unknown) => ({ apiKeyType: 'INFERENCE', description: '', consumptionLimit: { usd } })

const mistakes: readonly Row[] = [
  signedInWith('an unknown key', `fb_${'a'.repeat(43)}`),
  signedInWith('half a key', 'fb_abc'),
  signedInWith('a key with its header', `Authorization: Bearer fb_${'a'.repeat(43)}`),
  signedInWith('an empty key', ' '),
  signedInWith('a key that is not text', 7),
  signedInWith('a text that is not a key', 'x'.repeat(5_000)),
  ['a key that was revoked', async ({ account, revoked }) => answered(await account.spend(revoked.secret)), 401],
  [
    'a page whose key was revoked',
    async ({ account, revoked }) => answered(await account.act('balance', {}, revoked)),
    401,
  ],
  ['no session', async ({ account }) => answered(await account.post('/account/api/balance', {})), 401],
  [
    'a browser that blocks cookies',
    async ({ account, admin }) => answered(await account.act('balance', {}, { ...admin, cookie: '' })),
    401,
  ],
  [
    'another site’s form',
    async ({ account, admin }) => {
      const headers = { ...account.headersOf(admin), 'sec-fetch-site': 'cross-site' }
      return answered(await account.post('/account/api/sign-out', {}, headers))
    },
    403,
  ],
  [
    'a form that is not JSON',
    async ({ account, admin }) => {
      const headers = { ...account.headersOf(admin), 'content-type': 'text/plain' }
      return answered(await account.ask('/account/api/balance', { method: 'POST', headers, body: 'a=b' }))
    },
    400,
  ],
  acted('a form that is too long', 'keys/create', { description: 'x'.repeat(40_000) }, 413),
  acted('an unknown form', 'keys/raise', {}, 404),
  [
    'an unknown method',
    async ({ account, admin }) =>
      answered(await account.ask('/account/api/me', { method: 'PUT', headers: account.headersOf(admin) })),
    404,
  ],
  visited('the page by another name', '/account', 403, { headers: { host: 'localhost:8402' } }),
  visited('an unknown file', '/account/app.js', 404),
  visited('a form that is sent to the page', '/account', 405, { method: 'POST', body: 'a=b' }),
  ...[-1, 1e12, '5'].map(usd => acted(`a key with a budget of ${JSON.stringify(usd)}`, 'keys/create', budgetOf(usd))),
  acted('a key that ends in the past', 'keys/create', { ...budgetOf(1), expiresAt: '2020-01-01' }),
  acted('a key that ends on no day', 'keys/create', { ...budgetOf(1), expiresAt: '2031-02-30' }),
  acted('a label that is too long', 'keys/create', { ...budgetOf(1), description: 'x'.repeat(300) }),
  acted('an unknown role', 'keys/create', { ...budgetOf(1), apiKeyType: 'OWNER' }),
  acted('an unknown key to revoke', 'keys/revoke', { id: 'none' }, 404),
  acted('an unknown key to change', 'keys/change', { id: 'none', description: 'x' }, 404),
  acted('a keys’ page for an INFERENCE key', 'keys', {}, 403, 'plain'),
  acted('an empty request', 'request', { request: '' }),
  acted('an unknown request', 'request', { request: 'none' }, 404),
  acted('an invoice for no month', 'invoice', { month: '' }),
  acted('an invoice for a month to come', 'invoice', { month: '2999-01' }, 404),
  acted('a filter by no day', 'requests', { from: 'yesterday' }),
  acted('a filter that is too long', 'requests', { model: 'x'.repeat(300) }),
  acted('a page of nothing', 'requests', { after: '' }),
  acted('a top-up of nothing', 'wallet/draft', { network: 'solana', payer: 'x', amount: '0' }),
  acted('an invalid wallet', 'wallet/payer', { wallet: 'vitalik.eth' }),
  [
    'too many wrong keys',
    async ({ account }) => {
      for (let sent = 0; sent < 20; sent++) await account.spend('fb_wrong')
      return answered(await account.spend('fb_wrong'))
    },
    429,
  ],
  [
    'too many keys',
    async ({ account, admin }) => {
      for (let made = 0; made < 20; made++) await account.act('keys/create', budgetOf(1), admin)
      return answered(await account.act('keys/create', budgetOf(1), admin))
    },
    429,
  ],
  [
    'an address that the API has blocked',
    async ({ account }) => {
      for (let sent = 0; sent < 22; sent++)
        await account.service.request('/api/v1/chat/completions', { method: 'POST' })
      return answered(await account.ask('/account', { headers: byUser }))
    },
    429,
  ],
]

export const accountPage = misusedPage('the customers’ page', open, mistakes)
