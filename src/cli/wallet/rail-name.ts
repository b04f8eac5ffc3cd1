/** What people call the chain that an address is on. */
export const railName = (address: string): 'Base' | 'Solana' => (address.startsWith('0x') ? 'Base' : 'Solana')
