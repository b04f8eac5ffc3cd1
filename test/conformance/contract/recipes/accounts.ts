import type { Asked, Recipes } from '../recipe.ts'
import type { Stand } from '../stand.ts'

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
    unreachable: { 504: 'the books answer within their bound, or as books that are away' },
  },
}
