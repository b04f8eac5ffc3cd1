import type { Recipes } from '../recipe.ts'
import type { Stand } from '../stand.ts'

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
