import { encodeBase58 } from '#contract/wire/base58.ts'
import { transactionBytes } from '../bounds.ts'
import type { SvmPayment } from './svm-rail.ts'

interface SolanaTransaction {
  signatures: readonly Uint8Array[]
  /** What is signed. */
  message: Uint8Array
}

/** A message as it is on the wire, its addresses in base58. Account 0 pays the fee; the signers come first. */
export interface SolanaMessage {
  signers: number
  accounts: readonly string[]
  blockhash: string
  instructions: readonly SolanaInstruction[]
  lookupTables: number
}

/** Numbers are places in the accounts of the message, or beyond them in what lookup tables add. */
export interface SolanaInstruction {
  program: number
  accounts: readonly number[]
  data: Uint8Array
}

/** Null where the bytes are anything but one transaction, with nothing after it. */
export const readTransaction = (bytes: Uint8Array): SolanaTransaction | null =>
  bytes.length > transactionBytes
    ? null
    : readWhole(bytes, reader => ({
        signatures: reader.list(() => reader.take(signatureBytes)),
        message: reader.rest(),
      }))

/** A legacy message or one of version 0; null for other versions, and for bytes that are no message or more than one. */
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
const signatureBytes = 64
/** The first byte of version 0; in a legacy message it counts signers, of which there are never so many. */
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

/** Null where reading fails or leaves something over. */
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

  /** Seven bits a byte, the lowest first, three bytes at most; a longer spelling of the same number is refused. */
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

  /** The bytes that are there bound how many items can be read, whatever the count says. */
  list<Item>(item: () => Item): Item[] {
    return Array.from({ length: this.count() }, item)
  }
}

/** The whole transaction, base64: how many signatures, the fee payer's, the payer's, and what they sign. */
export const wireOf = (feePayerSignature: Uint8Array, { signature, message }: SvmPayment): string =>
  Buffer.concat([
    Buffer.of(2),
    feePayerSignature,
    Buffer.from(signature, 'base64'),
    Buffer.from(message, 'base64'),
  ]).toString('base64')
