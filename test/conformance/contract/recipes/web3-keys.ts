import type { Asked, Recipes } from '../recipe.ts'
import type { Stand } from '../stand.ts'

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
