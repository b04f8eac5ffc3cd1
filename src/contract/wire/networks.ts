import { topUpUsd } from '../limits.ts'
import { microUsd } from '../money.ts'

/**
 * What every payment has in common (brief §2.1–§2.3), apart from its schemas, so that reading settings loads none of
 * them.
 */

export const x402Version = 2

/** In the token's base units, which are micro-USD. */
export const smallestTopUpMicroUsd = microUsd(topUpUsd.minimum * 1_000_000)

/** Where the published contract's two rails are; the EVM one is what a local chain stands in for. */
export const evmNetwork = 'eip155:8453'
export const solanaNetwork = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
export const usdcOnEvm = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
export const usdcOnSolana = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
/** What the token calls itself on Base, where payments are signed for it; a copy on a local chain has another name. */
export const usdcNameOnEvm = 'USD Coin'
export const usdcDecimals = 6

/** Bare names in older messages mean the same networks. */
export const networkAliases: Readonly<Record<string, string>> = { base: evmNetwork, solana: solanaNetwork }

/** EVM addresses compare without case; Solana ones are exact. */
export const normalizeWallet = (address: string): string => (address.startsWith('0x') ? address.toLowerCase() : address)

/** Where wallets pay unless told otherwise, and in which token. A further EVM network is a line here. */
export const knownNetworks: readonly { network: string; asset: string; name: string }[] = [
  { network: evmNetwork, asset: usdcOnEvm, name: 'Base' },
  { network: solanaNetwork, asset: usdcOnSolana, name: 'Solana' },
]

const names: Readonly<Record<string, string>> = Object.fromEntries(
  knownNetworks.map(({ network, name }) => [network, name]),
)

/** What people call the chain of a CAIP-2 network. */
export const chainName = (network: string): string => (Object.hasOwn(names, network) ? String(names[network]) : network)

/** A CAIP-2 network as a person reads it: by its name and its number, by the number alone where it has no name here. */
export const networkName = (network: string): string =>
  Object.hasOwn(names, network) ? `${names[network]} (${network})` : network
