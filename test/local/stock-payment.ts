import { x402Facilitator } from '@x402/core/facilitator'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme as ExactEvmClient } from '@x402/evm/exact/client'
import { ExactEvmScheme as ExactEvmFacilitator } from '@x402/evm/exact/facilitator'
import { type Address, createWalletClient, type Hex, http, publicActions } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { LocalEvmChain } from '#local/evm/chain.ts'
import { connectChain } from '#local/evm/token.ts'

export const newAccount = () => privateKeyToAccount(generatePrivateKey())
export const chainClient = (chain: LocalEvmChain) => connectChain(chain.rpcUrl)

/** The reference facilitator with a key of its own, which has gas on the chain. */
export async function stockFacilitator(chain: LocalEvmChain): Promise<x402Facilitator> {
  const account = newAccount()
  await chain.fundEth(account.address)
  const client = createWalletClient({
    account,
    chain: connectChain(chain.rpcUrl).chain,
    transport: http(chain.rpcUrl),
    pollingInterval: 15,
  }).extend(publicActions)
  const signer = toFacilitatorEvmSigner({ ...client, address: account.address } as unknown as Parameters<
    typeof toFacilitatorEvmSigner
  >[0])
  return new x402Facilitator().register('eip155:8453', new ExactEvmFacilitator(signer))
}

export const demand = (chain: LocalEvmChain, payTo: Address, amountMicroUsd = 5_000_000n): PaymentRequirements => ({
  scheme: 'exact',
  network: 'eip155:8453',
  asset: chain.tokenAddress,
  amount: String(amountMicroUsd),
  payTo,
  maxTimeoutSeconds: 300,
  extra: { name: chain.tokenName, version: chain.tokenVersion },
})

interface Signer {
  address: Address
  signTypedData(message: never): Promise<Hex>
}

/** The reference client's answer to a demand. */
export async function stockPayment(signer: Signer, requirements: PaymentRequirements): Promise<PaymentPayload> {
  const client = new ExactEvmClient(signer as unknown as ConstructorParameters<typeof ExactEvmClient>[0])
  const made = await client.createPaymentPayload(2, requirements)
  return { ...made, accepted: requirements } as PaymentPayload
}
