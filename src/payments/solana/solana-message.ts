import { encodeBase58 } from '#contract/wire/base58.ts'
import { mostComputeUnits, mostMicroLamportsPerUnit, transactionBytes } from '../bounds.ts'
import { refusedPayment } from '../payment/payment.ts'
import { computeBudgetProgram, lighthouseProgram, memoProgram, tokenProgram } from './solana-key.ts'
import type { SvmPayment } from './svm-rail.ts'

interface SolanaTransaction {
  signatures: readonly Uint8Array[]
  /** What is signed. */
  message: Uint8Array
}

/** A message as on the wire, with addresses in base58. Account 0 pays the fee; the signers come first. */
export interface SolanaMessage {
  signers: number
  accounts: readonly string[]
  blockhash: string
  instructions: readonly SolanaInstruction[]
  lookupTables: number
}

/** Numbers are indexes into the accounts of the message, or beyond them into those that lookup tables add. */
interface SolanaInstruction {
  program: number
  accounts: readonly number[]
  data: Uint8Array
}

/** Null unless the bytes are exactly one transaction with nothing after it. */
export const readTransaction = (bytes: Uint8Array): SolanaTransaction | null =>
  bytes.length > transactionBytes
    ? null
    : readWhole(bytes, reader => ({
        signatures: reader.list(() => reader.take(signatureBytes)),
        message: reader.rest(),
      }))

/**
 * Reads a legacy message or one of version 0; null for other versions and for bytes that are not exactly one message.
 */
export const readMessage = (bytes: Uint8Array): SolanaMessage | null =>
  readWhole(bytes, reader => {
    const isVersioned = (bytes[0] ?? 0) >= versionMark
    if (isVersioned && reader.byte() !== versionMark) throw new Unreadable('another version')
    const [signers, readonlySigners, readonlyOthers] = [reader.byte(), reader.byte(), reader.byte()]
    const accounts = reader.list(() => encodeBase58(reader.take(addressBytes)))
    if (readonlySigners >= signers || signers + readonlyOthers > accounts.length) throw new Unreadable('the header')
    const blockhash = encodeBase58(reader.take(addressBytes))
    const instructions = reader.list(() => readInstruction(reader))
    const lookupTables = isVersioned ? reader.list(() => skipLookupTable(reader)).length : 0
    return { signers, accounts, blockhash, instructions, lookupTables }
  })

const addressBytes = 32
export const signatureBytes = 64
/** The first byte of version 0. In a legacy message this byte counts signers, of which there are never that many. */
const versionMark = 0x80

function readInstruction(reader: Reader): SolanaInstruction {
  const program = reader.byte()
  const accounts = reader.list(() => reader.byte())
  return { program, accounts, data: reader.take(reader.count()) }
}

function skipLookupTable(reader: Reader): void {
  reader.take(addressBytes)
  reader.take(reader.count())
  reader.take(reader.count())
}

/** Null if reading fails or bytes are left over. */
function readWhole<Value>(bytes: Uint8Array, read: (reader: Reader) => Value): Value | null {
  const reader = new Reader(bytes)
  try {
    const value = read(reader)
    return reader.isAtEnd ? value : null
  } catch (error) {
    if (error instanceof Unreadable) return null
    throw error
  }
}

class Unreadable extends Error {}

class Reader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  byte(): number {
    const byte = this.#bytes[this.#at++]
    if (byte === undefined) throw new Unreadable('too short')
    return byte
  }

  take(length: number): Uint8Array {
    const end = this.#at + length
    if (end > this.#bytes.length) throw new Unreadable('too short')
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }

  rest(): Uint8Array {
    return this.take(this.#bytes.length - this.#at)
  }

  /** Seven bits per byte, lowest first, three bytes at most; a longer encoding of the same number is rejected. */
  count(): number {
    let value = 0
    for (let place = 0; place < 3; place++) {
      const byte = this.byte()
      value |= (byte & 0x7f) << (7 * place)
      if (byte >= 0x80) continue
      if ((byte === 0 && place > 0) || value > 0xffff) break
      return value
    }
    throw new Unreadable('a count')
  }

  /** The bytes present limit how many items can be read, whatever the count says. */
  list<Item>(item: () => Item): Item[] {
    return Array.from({ length: this.count() }, item)
  }
}

/**
 * The whole transaction in base64: the number of signatures, the fee payer's signature, the payer's, and the bytes that
 * they sign.
 */
export const wireOf = (feePayerSignature: Uint8Array, { signature, message }: SvmPayment): string =>
  Buffer.concat([
    Buffer.of(2),
    feePayerSignature,
    Buffer.from(signature, 'base64'),
    Buffer.from(message, 'base64'),
  ]).toString('base64')

/** Everything that a payment's transaction does: one transfer, and what it costs the fee payer. */
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

/** The fee payer is account 0, and no instruction may use it, because any instruction could take money from it. */
const feePayerPlace = 0
/** The only other signer. */
const payerPlace = 1

/**
 * Returns the transfer of a message that does nothing else; it is not yet compared with an option. Anything that is not
 * known to be harmless is rejected, because our key signs the same bytes. Throws `invalidPayment`.
 */
export function readTransfer(message: SolanaMessage): SvmTransfer {
  const [feePayer, payer] = message.accounts
  if (message.lookupTables > 0) throw refusedPayment('lookup_tables')
  if (message.signers !== 2 || feePayer === undefined || payer === undefined) throw refusedPayment('wrong_signers')
  if (message.instructions.some(({ program }) => message.accounts[program] === lighthouseProgram)) {
    throw refusedPayment('wallet_guard')
  }
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

/** Throws `invalidPayment` if the transfer would cost us more than it needs. */
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
      // A fifth account would be a signer of a multisig wallet.
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
