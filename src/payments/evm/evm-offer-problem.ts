import type { PublicClient } from 'viem'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { chainIdOf } from './evm-chain-id.ts'

type Hex = `0x${string}`

const text = (name: string) =>
  ({ type: 'function', name, stateMutability: 'view', inputs: [], outputs: [{ name: '', type: 'string' }] }) as const

/** What is wrong with an option that is offered on an EVM chain, as a sentence for the operator. Rejects where the node does. */
export async function offerProblem(
  client: Pick<PublicClient, 'getChainId' | 'getCode' | 'readContract'>,
  { network, asset, payTo, extra }: PaymentOption,
): Promise<string | null> {
  const chainId = await client.getChainId()
  if (chainId !== chainIdOf(network)) {
    return `The node serves chain ${chainId}, not ${chainIdOf(network)}; set the RPC URL of the right chain.`
  }
  if (!/^0x[0-9a-f]{40}$/i.test(payTo) || /^0x0{40}$/.test(payTo)) {
    return `${payTo} cannot receive payments; set payTo to an address whose key you hold.`
  }
  const code = await client.getCode({ address: asset as Hex })
  if (!code || code === '0x') return `There is no token at ${asset} on chain ${chainId}; set the asset's address.`
  for (const member of ['name', 'version'] as const) {
    const says = await client.readContract({ address: asset as Hex, abi: [text(member)], functionName: member })
    if (says !== extra?.[member]) {
      return `The token at ${asset} has the ${member} ${JSON.stringify(says)}; set extra.${member} of the option to it, or no signature is valid.`
    }
  }
  return null
}
