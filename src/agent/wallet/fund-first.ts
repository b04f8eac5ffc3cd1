import { isLoopback } from '#contract/wire/network-address.ts'
import { networkName } from '#contract/wire/networks.ts'
import { defaultRails, railOf } from '#wallet/rules/policy.ts'
import type { WalletStatus } from '#wallet/wallet-status.ts'

/**
 * What a person does before a new wallet can pay: where nothing was ever paid or reserved, to which address money has to
 * come. What it holds there is the chain's to say, so the sentence holds for a wallet that was funded just now too.
 */
export function fundFirst(status: WalletStatus): string | null {
  if (status.spentTotalMicroUsd > 0n || status.isDryRun || status.isStopped) return null
  const addresses = status.isPayerDecided ? [status.address] : status.addresses
  if (isLoopback(new URL(status.origin).hostname))
    return `Nothing was ever paid and there is no credit. If the wallet was not funded yet, \`farebox local fund ${addresses[0]} --usd 10\` does it on the local chain of that service; send it no real USDC.`
  const places = addresses.map(address => {
    const rail = railOf({ rails: defaultRails }, address)
    return rail ? `${address} on ${networkName(rail.network)}` : address
  })
  return `Nothing was ever paid and there is no credit. If the wallet was not funded yet, let the person first send USDC to ${places.join(', or to ')}.`
}
