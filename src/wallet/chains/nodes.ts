import { z } from 'zod'
import { isLoopback } from '#contract/wire/network-address.ts'
import { evmNetwork, solanaNetwork, usdcNameOnEvm, usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { nodeAnswerBytes, nodeTimeoutMs, noNode } from '../limits.ts'
import type { Rail } from '../terms/order.ts'
import { WalletRefusal } from '../terms/refusal.ts'

/** Addresses of nodes by the namespace of CAIP-2. They may hold a key, so they are never shown. */
export interface ChainNodes {
  eip155?: string | undefined
  solana?: string | undefined
}

/** Where the balance is read unless told: what each chain's own documents name. */
export const publicNodes = {
  eip155: 'https://mainnet.base.org',
  solana: 'https://api.mainnet-beta.solana.com',
} as const

/** At which service, on which rails, and the names of the EVM tokens that it takes, as far as they are known. */
interface Money {
  origin: string
  rails: readonly Rail[]
  tokenNames: readonly unknown[]
}

/**
 * Whether a service takes the real USDC of a public network: a service of this machine does not, and a local chain has
 * Base's number and another name for its token.
 */
export const isPublicMoney = ({ origin, tokenNames }: Money): boolean =>
  !isLoopback(new URL(origin).hostname) && tokenNames.every(name => name === usdcNameOnEvm)

/**
 * The nodes that may be asked: those that the owner has named, else the public ones where the money is public. The public
 * ones know nothing of a copy of a chain, and would be told the wallet's address for nothing.
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

/** The names of Base's USDC in what a service offers. */
export const tokenNamesIn = (accepts: readonly PaymentOption[]): unknown[] =>
  accepts
    .filter(option => option?.network === evmNetwork && String(option.asset).toLowerCase() === usdcOnEvm.toLowerCase())
    .map(({ extra }) => extra?.name)

const Answer = z.object({ result: z.unknown().optional(), error: z.unknown().optional() })

/** One question over JSON-RPC. Nothing that a node says decides who is paid, or how much. Throws a refusal. */
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
    return result.parse(Answer.parse(JSON.parse(await readText(response))).result)
  } catch {
    // Without its cause: an error of the connection names the address.
    throw new WalletRefusal({
      rule: 'node',
      sentence: `The node of the chain did not answer ${method}.`,
      nextStep:
        'Nothing was signed; try again, or ask the user to check FAREBOX_SOLANA_RPC_URL and FAREBOX_EVM_RPC_URL.',
    })
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > nodeAnswerBytes) throw new Error('The answer is too long.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
