import type { MicroUsd } from '#contract/money.ts'
import { type RpcRequest, rpcCredits } from '#contract/operations/rpc.ts'
import { unitsAt } from './unit-price.ts'

/** The most that calls of a node can cost: which method has which tier is its service's to say, so each counts as the dearest. */
export const rpcBound = (body: RpcRequest): MicroUsd | null =>
  unitsAt([body].flat().length * rpcCredits.mostBase * rpcCredits.mostTier, rpcCredits.picoUsd)
