import { z } from 'zod'
import { paidFailures, StandardError } from '../errors/failures.ts'
import { answerListOf, listOf } from '../schemas.ts'
import { defineOperation } from './operation.ts'

/** JSON-RPC of blockchain nodes (brief §1.1, published contract §14). */

/**
 * The price of one credit, and of a call that the node refused. A network's base is 20, 30 at most; the most expensive
 * methods cost four times that.
 */
export const rpcCredits = {
  ...{ picoUsd: 700_000n, base: 20, mostBase: 30, mostTier: 4 },
  ...{ errorItem: 5, aDay: 10_000_000, batch: 100 },
} as const

export const RpcCall = z
  .looseObject({
    jsonrpc: z.literal('2.0').optional(),
    method: z.string().min(1).max(128),
    params: listOf(z.unknown()).optional(),
    id: z.union([z.number().int(), z.string().max(256)]).optional(),
  })
  .meta({ id: 'RpcCall' })
export type RpcCall = z.output<typeof RpcCall>

export const RpcRequest = z
  .union([RpcCall, listOf(RpcCall).min(1).max(rpcCredits.batch)])
  .meta({ id: 'CryptoRpcRequest' })
export type RpcRequest = z.output<typeof RpcRequest>

/** As the node returned it; unknown members are kept. */
export const RpcResult = z
  .looseObject({
    jsonrpc: z.string().optional(),
    id: z.union([z.number().int(), z.string()]).optional(),
    result: z.unknown().optional(),
    error: z.looseObject({ code: z.number().int(), message: z.string(), data: z.unknown().optional() }).optional(),
  })
  .meta({ id: 'RpcResult' })
export type RpcResult = z.output<typeof RpcResult>

export const RpcNetworks = z.strictObject({ networks: answerListOf(z.string()) }).meta({ id: 'CryptoRpcNetworks' })

export const listCryptoRpcNetworks = defineOperation({
  id: 'listCryptoRpcNetworks',
  method: 'GET',
  path: '/crypto/rpc/networks',
  tag: 'Crypto RPC',
  summary: 'Networks whose nodes can be called',
  auth: [],
  charge: 'free',
  limit: 'read',
  request: {},
  answer: { json: RpcNetworks },
  failures: { 429: StandardError, 500: StandardError, 503: StandardError },
})

export const cryptoRpcProxy = defineOperation({
  id: 'cryptoRpcProxy',
  method: 'POST',
  path: '/crypto/rpc/{network}',
  tag: 'Crypto RPC',
  summary: 'Call the node of a network, once or as a batch; priced in credits',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'crypto.rpc',
  reusedKeyStatus: 400,
  request: {
    params: z.object({ network: z.string().min(1).max(64) }),
    body: RpcRequest,
  },
  answer: { json: z.union([RpcResult, listOf(RpcResult)]) },
  failures: { ...paidFailures, 415: StandardError },
})
