import { topUpUsd } from '../limits.ts'
import { microUsd } from '../money.ts'

/** Constants of all payments (brief §2.1–§2.3), without the schemas, so that reading settings loads none of them. */

export const x402Version = 2

/** In the token's base units, which are micro-USD. */
export const smallestTopUpMicroUsd = microUsd(topUpUsd.minimum * 1_000_000)

/** Base, the EVM network of the published contract; a local chain replaces it. */
export const evmNetwork = 'eip155:8453'
export const solanaNetwork = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
export const usdcOnEvm = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
export const usdcOnSolana = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
/** The token's own name on Base, which signatures include; a copy on a local chain has another name. */
export const usdcNameOnEvm = 'USD Coin'
export const usdcDecimals = 6

/** Bare names in older messages, each with its network. */
export const networkAliases: Readonly<Record<string, string>> = { base: evmNetwork, solana: solanaNetwork }

/** EVM addresses compare case-insensitively; Solana ones exactly. */
export const normalizeWallet = (address: string): string => (address.startsWith('0x') ? address.toLowerCase() : address)

/** The networks and tokens with which wallets pay by default. To add an EVM network, add a line. */
export const knownNetworks: readonly { network: string; asset: string; name: string }[] = [
  { network: evmNetwork, asset: usdcOnEvm, name: 'Base' },
  { network: solanaNetwork, asset: usdcOnSolana, name: 'Solana' },
]

const names: Readonly<Record<string, string>> = Object.fromEntries(
  knownNetworks.map(({ network, name }) => [network, name]),
)

/** Returns the common name of a CAIP-2 network's chain. */
export const chainName = (network: string): string => (Object.hasOwn(names, network) ? String(names[network]) : network)

/** Formats a CAIP-2 network for display: its name and number, or only the number if we have no name for it. */
export const networkName = (network: string): string =>
  Object.hasOwn(names, network) ? `${names[network]} (${network})` : network

/** Only the well-known tokens have names; any other is shown by its whole address, because any token can be called USDC. */
export const tokenName = ({ network, asset }: { network: string; asset: string }): string =>
  knownNetworks.some(each => each.network === network && normalizeWallet(each.asset) === normalizeWallet(asset))
    ? `USDC on ${chainName(network)}`
    : `the token ${asset} on ${networkName(network)}`
