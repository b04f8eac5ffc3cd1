/** Addresses of programs on Solana, as their publishers name them. */

export const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'

const programs: ReadonlySet<string> = new Set([
  memoProgram,
  '11111111111111111111111111111111',
  'ComputeBudget111111111111111111111111111111',
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
  'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
])

/** A program has no key, so it signs nothing; a transaction that invokes one cannot have it pay the fee either. */
export const isSolanaProgram = (address: string): boolean => programs.has(address)
