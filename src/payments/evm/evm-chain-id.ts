/** The number in a CAIP-2 name of an EVM chain. */
export const chainIdOf = (network: string): number => Number(network.slice('eip155:'.length))
