import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { usdcOnSolana } from '#contract/wire/networks.ts'
import { addressOf, computeBudgetProgram, tokenAccountOf, tokenProgram } from '#payments/solana/solana-key.ts'

/** Everything in PKCS #8 of an Ed25519 key before its 32 bytes. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

const addressOfByte = (byte: number): string => encodeBase58(Buffer.alloc(32, byte))

/** The keys of these two do not exist; the simulation does not need them. */
export const solanaPayee = addressOfByte(7)
export const solanaFeePayer = addressOfByte(9)

/** A wallet on Solana whose key follows from one byte. */
export class SolanaWallet {
  readonly address: string
  readonly #key: KeyObject

  constructor(byte: number) {
    const der = Buffer.concat([pkcs8Prefix, Buffer.alloc(32, byte)])
    this.#key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    const { x } = createPublicKey(this.#key).export({ format: 'jwk' })
    this.address = encodeBase58(Buffer.from(x ?? '', 'base64url'))
  }

  sign(message: Uint8Array): Uint8Array {
    return sign(null, message, this.#key)
  }
}

let payeeAccount: string | null = null

/** A transfer to the payee, signed by its payer, the place of the fee payer's signature empty. `blockhash` is 32 bytes. */
export function solanaTransfer(wallet: SolanaWallet, terms: { amount: bigint; payee: string; blockhash: Buffer }) {
  payeeAccount ??= tokenAccountOf(solanaPayee, usdcOnSolana)
  const destination = terms.payee === solanaPayee ? payeeAccount : terms.payee
  const source = encodeBase58(createHash('sha256').update(wallet.address).digest())
  const accounts = [
    solanaFeePayer,
    wallet.address,
    source,
    destination,
    usdcOnSolana,
    tokenProgram,
    computeBudgetProgram,
  ]
  const amount = Buffer.alloc(8)
  amount.writeBigUInt64LE(terms.amount)
  const units = Buffer.alloc(4)
  units.writeUInt32LE(20_000)
  const message = Buffer.concat([
    // Version 0; two signers, of which one is only read, and three others that are only read.
    Buffer.of(0x80, 2, 1, 3, accounts.length),
    ...accounts.map(each => addressOf(each) ?? Buffer.alloc(0)),
    terms.blockhash,
    Buffer.of(2),
    Buffer.of(6, 0, 5, 2),
    units,
    Buffer.of(5, 4, 2, 4, 3, 1, 10, 12),
    amount,
    Buffer.of(6),
    Buffer.of(0),
  ])
  const transaction = Buffer.concat([Buffer.of(2), Buffer.alloc(64), wallet.sign(message), message])
  return { transaction: transaction.toString('base64'), id: createHash('sha256').update(message).digest('hex') }
}
