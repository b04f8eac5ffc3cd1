import { z } from 'zod'
import { isLoopback } from '#contract/wire/network-address.ts'
import { chainName, evmNetwork, solanaNetwork, usdcNameOnEvm, usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { nodeAnswerBytes, nodeTimeoutMs, noNode } from '../limits.ts'
import type { Rail } from '../terms/order.ts'
import { WalletRefusal } from '../terms/refusal.ts'

/** Addresses of nodes by CAIP-2 namespace. They may contain a key, so they are never shown. */
export interface ChainNodes {
  eip155?: string | undefined
  solana?: string | undefined
}

/** Default nodes for reading balances: those that each chain's own documentation names. */
export const publicNodes = {
  eip155: 'https://mainnet.base.org',
  solana: 'https://api.mainnet-beta.solana.com',
} as const

/** The service, its rails, and the known names of the EVM tokens that it accepts. */
interface Money {
  origin: string
  rails: readonly Rail[]
  tokenNames: readonly unknown[]
}

/**
 * Whether a service accepts real USDC on a public network: a local service does not, and a local chain has Base's
 * number but another name for its token.
 */
export const isPublicMoney = ({ origin, tokenNames }: Money): boolean =>
  !isLoopback(new URL(origin).hostname) && tokenNames.every(name => name === usdcNameOnEvm)

/**
 * Returns the nodes to use: those that the owner configured, or else the public ones if the money is real. A public
 * node knows nothing about a local copy of a chain, and does not need to learn the wallet's address.
 */
export function nodesInUse(given: ChainNodes, money: Money): ChainNodes {
  const isPublic = isPublicMoney(money)
  const isOn = (network: string) => isPublic && money.rails.some(rail => rail.network === network)
  return {
    eip155: nodeOf(given.eip155, isOn(evmNetwork) ? publicNodes.eip155 : undefined),
    solana: nodeOf(given.solana, isOn(solanaNetwork) ? publicNodes.solana : undefined),
  }
}

const nodeOf = (given: string | undefined, usual: string | undefined): string | undefined =>
  given === noNode ? undefined : given || usual

/** Throws the refusal that names the setting of a chain whose node is missing. */
export function noNodeFor(network: string): never {
  const variable = network.startsWith('solana:') ? 'FAREBOX_SOLANA_RPC_URL' : 'FAREBOX_EVM_RPC_URL'
  throw new WalletRefusal({
    rule: 'node',
    sentence: `This needs a ${chainName(network)} node, and none is set.`,
    nextStep: `Nothing was signed; set ${variable} to the address of a node.`,
  })
}

/** Returns the names that a service's offer gives to Base's USDC. */
export const tokenNamesIn = (accepts: readonly PaymentOption[]): unknown[] =>
  accepts
    .filter(option => option?.network === evmNetwork && String(option.asset).toLowerCase() === usdcOnEvm.toLowerCase())
    .map(({ extra }) => extra?.name)

const Answer = z.object({ result: z.unknown().optional(), error: z.unknown().optional() })

/** Makes one JSON-RPC call. A node's answer never decides who is paid, or how much. Throws a refusal. */
export async function askNode<Result>(
  url: string,
  method: string,
  params: readonly unknown[],
  result: z.ZodType<Result>,
  timeoutMs: number = nodeTimeoutMs,
): Promise<Result> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    return result.parse(Answer.parse(JSON.parse(await textWithin(response, nodeAnswerBytes))).result)
  } catch {
    // Without its cause, because a connection error contains the node's address, which may contain a key.
    throw new WalletRefusal({
      rule: 'node',
      sentence: `The node of the chain did not answer ${method}.`,
      nextStep:
        'Nothing was signed; try again, or ask the user to check FAREBOX_SOLANA_RPC_URL and FAREBOX_EVM_RPC_URL.',
    })
  }
}

/** Returns the complete body; rejects if it is too long. */
export async function textWithin(response: Response, mostBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new Error('The answer is too long.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
