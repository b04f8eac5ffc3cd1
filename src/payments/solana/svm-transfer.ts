import { mostComputeUnits, mostMicroLamportsPerUnit } from '../bounds.ts'
import { refusedPayment } from '../payment/payment-reasons.ts'
import { computeBudgetProgram, memoProgram, tokenProgram } from './solana-key.ts'
import type { SolanaInstruction, SolanaMessage } from './solana-message.ts'

/** All that a payment's transaction does: one transfer, and what it costs whoever pays the fee. */
export interface SvmTransfer {
  feePayer: string
  /** Owns the tokens, and signs. */
  payer: string
  source: string
  mint: string
  destination: string
  /** In base units of the mint. */
  amount: bigint
  decimals: number
  computeUnits: number
  microLamportsPerUnit: bigint
}

/** The fee payer is account 0, and no instruction may name it: whatever is named could be made to give. */
const feePayerPlace = 0
/** The only other signer. */
const payerPlace = 1

/**
 * The transfer of a message that does nothing else, compared with no option yet. Everything is refused that is not
 * known to be harmless, because our key signs the same bytes. Throws `invalidPayment`.
 */
export function readTransfer(message: SolanaMessage): SvmTransfer {
  const [feePayer, payer] = message.accounts
  if (message.lookupTables > 0) throw refusedPayment('lookup_tables')
  if (message.signers !== 2 || feePayer === undefined || payer === undefined) throw refusedPayment('wrong_signers')
  checkAccounts(message)
  const places = message.instructions.map(instruction => kindOf(instruction, message))
  const [transfer, ...otherTransfers] = instructionsOf(message, places, 'transfer')
  const [limit, ...otherLimits] = instructionsOf(message, places, 'limit')
  const [price, ...otherPrices] = instructionsOf(message, places, 'price')
  const [, ...otherMemos] = instructionsOf(message, places, 'memo')
  const isOneEach = [otherTransfers, otherLimits, otherPrices, otherMemos].every(others => others.length === 0)
  if (!transfer || !limit || !isOneEach) throw refusedPayment('instruction_not_allowed')
  const [source = '', mint = '', destination = ''] = transfer.accounts.map(place => message.accounts[place])
  const data = Buffer.from(transfer.data)
  return {
    feePayer,
    payer,
    source,
    mint,
    destination,
    amount: data.readBigUInt64LE(1),
    decimals: data.readUInt8(9),
    computeUnits: Buffer.from(limit.data).readUInt32LE(1),
    microLamportsPerUnit: price ? Buffer.from(price.data).readBigUInt64LE(1) : 0n,
  }
}

/** Throws `invalidPayment` where the transfer would cost us more than one needs. */
export function checkCost({ computeUnits, microLamportsPerUnit }: SvmTransfer): void {
  if (computeUnits <= mostComputeUnits && microLamportsPerUnit <= mostMicroLamportsPerUnit) return
  const bounds = { maxComputeUnits: mostComputeUnits, maxMicroLamportsPerUnit: `${mostMicroLamportsPerUnit}` }
  throw refusedPayment('compute_too_high', bounds)
}

function checkAccounts({ accounts, instructions }: SolanaMessage): void {
  const named = new Set(instructions.flatMap(({ program, accounts: places }) => [program, ...places]))
  if (named.has(feePayerPlace)) throw refusedPayment('fee_payer_named')
  const isEachUsed = accounts.every((_, place) => place === feePayerPlace || named.has(place))
  const isEachThere = [...named].every(place => place < accounts.length)
  if (!isEachUsed || !isEachThere || new Set(accounts).size !== accounts.length) throw refusedPayment('stray_account')
}

type Kind = 'limit' | 'price' | 'transfer' | 'memo'

function kindOf({ program, accounts, data }: SolanaInstruction, message: SolanaMessage): Kind {
  const [first] = data
  switch (message.accounts[program]) {
    case computeBudgetProgram:
      if (first === 2 && data.length === 5 && accounts.length === 0) return 'limit'
      if (first === 3 && data.length === 9 && accounts.length === 0) return 'price'
      break
    case tokenProgram:
      // A fifth account would be a signer of a wallet of several.
      if (first === 12 && data.length === 10 && accounts.length === 4 && accounts[3] === payerPlace) return 'transfer'
      break
    case memoProgram:
      if (accounts.every(place => place === payerPlace)) return 'memo'
      break
  }
  throw refusedPayment('instruction_not_allowed')
}

const instructionsOf = ({ instructions }: SolanaMessage, kinds: readonly Kind[], kind: Kind): SolanaInstruction[] =>
  instructions.filter((_, place) => kinds[place] === kind)
