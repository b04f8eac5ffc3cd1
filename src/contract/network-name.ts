import { evmNetwork, solanaNetwork } from './payment-rails.ts'

const names: Readonly<Record<string, string>> = { [evmNetwork]: 'Base', [solanaNetwork]: 'Solana' }

/** What people call the chain of a CAIP-2 network. */
export const chainName = (network: string): string => (Object.hasOwn(names, network) ? String(names[network]) : network)

/** A CAIP-2 network as a person reads it: by its name and its number, by the number alone where it has no name here. */
export const networkName = (network: string): string =>
  Object.hasOwn(names, network) ? `${names[network]} (${network})` : network
