import type { Stand } from '../contract-service.ts'
import type { Asked, Recipes } from '../recipe.ts'

const order = { apiKeyType: 'INFERENCE', description: 'a key', consumptionLimit: { usd: 5 } }

async function made(stand: Stand): Promise<string> {
  const response = await stand.ask('POST', '/api_keys', { body: order, as: 'admin' })
  return ((await response.json()) as { data: { id: string } }).data.id
}

const byId = async (stand: Stand): Promise<Asked> => ({ path: `/api_keys/${await made(stand)}`, as: 'admin' })

export const accountRecipes: Recipes = {
  getApiKeys: { succeeds: [{ as: 'admin' }] },
  createApiKey: {
    succeeds: [
      { body: order, as: 'admin' },
      { body: { ...order, apiKeyType: 'ADMIN', expiresAt: '2030-01-31' }, as: 'admin' },
    ],
  },
  updateApiKey: {
    succeeds: [async stand => ({ body: { id: await made(stand), description: 'another' }, as: 'admin' })],
  },
  deleteApiKey: {
    succeeds: [async stand => ({ query: `?id=${await made(stand)}`, as: 'admin' })],
    reaches: { 400: { as: 'admin' } },
  },
  getApiKeyById: { succeeds: [byId] },
  getBillingBalance: { succeeds: [{ as: 'admin' }] },
  getBillingUsage: {
    succeeds: [{ as: 'admin' }, { as: 'admin', headers: { accept: 'text/csv' } }],
    reaches: { 400: { as: 'admin', query: '?limit=x' } },
  },
  getBillingUsageAnalytics: {
    succeeds: [{ as: 'admin' }],
    reaches: { 400: { as: 'admin', query: '?lookback=x' } },
    unreachable: { 504: 'the ledger answers within its limit, or as unreachable' },
  },
}

export const limitRecipes: Recipes = {
  getApiKeyRateLimits: { succeeds: [{}, { as: 'wallet' }] },
  getApiKeyRateLimitLogs: { succeeds: [{}, { path: '/api_keys/rate_limit_logs' }] },
}

const path = '/api_keys/generate_web3_key'

async function signed({ ask, wallet }: Stand): Promise<Asked> {
  const response = await ask('GET', path, { as: 'nobody' })
  const { data } = (await response.json()) as { data: { token: string } }
  const order = { apiKeyType: 'INFERENCE', description: 'a key of a wallet', consumptionLimit: { usd: 5 } }
  const signature = await wallet.sign(data.token)
  return { as: 'nobody', body: { ...order, address: wallet.address, signature, token: data.token } }
}

export const web3KeyRecipes: Recipes = {
  getApiKeyGenerateWeb3Key: { succeeds: [{ as: 'nobody' }] },
  postApiKeyGenerateWeb3Key: { succeeds: [signed] },
}

const own = (what: string) => (stand: Stand) => ({
  path: `/x402/${what}/${stand.wallet.address}`,
  as: 'wallet' as const,
})
const strangers = (what: string) => ({ path: `/x402/${what}/0x${'12'.repeat(20)}`, as: 'wallet' as const })
const none = (what: string) => ({ path: `/x402/${what}/nobody`, as: 'wallet' as const })

export const x402Recipes: Recipes = {
  topUpX402Balance: {
    succeeds: [{ as: 'nobody', headers: { 'payment-signature': 'paid' }, body: {} }],
    reaches: {
      400: { as: 'nobody', headers: { 'payment-signature': 'none' } },
      402: { as: 'nobody' },
      500: { as: 'nobody', headers: { 'payment-signature': 'broken' } },
    },
  },
  getX402Balance: { succeeds: [own('balance')], reaches: { 400: none('balance'), 403: strangers('balance') } },
  getX402Transactions: {
    succeeds: [own('transactions')],
    reaches: { 400: none('transactions'), 403: strangers('transactions') },
  },
}

const call = { jsonrpc: '2.0', method: 'eth_chainId', params: [], id: 1 }
const { id: _id, ...unnumbered } = call

/** The limit has headers of its own, which the block has not. */
async function tooMany(stand: Stand): Promise<Response> {
  const ask = () => stand.ask('POST', '/crypto/rpc/double', { body: call })
  for (let sent = 0; sent < 100; sent++) await (await ask()).arrayBuffer()
  return ask()
}

export const cryptoRecipes: Recipes = {
  listCryptoRpcNetworks: { succeeds: [{ as: 'nobody' }] },
  cryptoRpcProxy: {
    succeeds: [
      { path: '/crypto/rpc/double', body: call },
      { path: '/crypto/rpc/double', body: [call, { ...call, id: 'b', method: 'eth_call' }], as: 'wallet' },
      { path: '/crypto/rpc/double', body: unnumbered },
    ],
    reaches: { 429: { answer: tooMany }, 500: { path: '/crypto/rpc/failing', body: call } },
  },
}
