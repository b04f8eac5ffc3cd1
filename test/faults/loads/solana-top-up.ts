import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyPairSigner } from '@solana/kit'
import { ExactSvmScheme } from '@x402/svm/exact/client'
import type { SignedTopUp } from '../load-records.ts'
import type { Round, SolanaPayers } from '../round.ts'
import type { Seeded } from '../seeded.ts'
import { leastMicroUsd, pay } from './top-up.ts'

/** A blockhash lives for 150 blocks of 400 ms. */
const blockhashMs = 60_000

/** Payments by transactions of Solana, and twins of them. Those that were never acknowledged are sent again with the others. */
export async function solanaTopUps(round: Round, seeded: Seeded): Promise<void> {
  while (!round.isOver()) {
    await sleep(20 + seeded.below(120))
    if (round.isOver() || round.budget.solanaPayments <= 0) continue
    round.budget.solanaPayments--
    const wallet = seeded.pick(round.solana.wallets)
    if (!wallet) return
    const payment = await sign(wallet, round.solana, leastMicroUsd + BigInt(seeded.below(1_000_000)))
    // In the book before it is sent: from then on it may land.
    round.book.topUps.push(payment)
    const twins = seeded.once(4) ? [payment, payment] : [payment]
    await Promise.all(twins.map(each => pay(round, each)))
  }
}

/** With the reference client's own scheme. */
async function sign(
  wallet: KeyPairSigner,
  { rpcUrl, option }: SolanaPayers,
  amountMicroUsd: bigint,
): Promise<SignedTopUp> {
  const scheme = new ExactSvmScheme(wallet, { rpcUrl })
  const accepted = { ...option, amount: `${amountMicroUsd}` } as Parameters<typeof scheme.createPaymentPayload>[1]
  const made = await scheme.createPaymentPayload(2, accepted)
  const { transaction } = made.payload as { transaction: string }
  return {
    kind: 'solana top-up',
    wallet: wallet.address,
    nonce: messageHash(transaction),
    amountMicroUsd,
    header: Buffer.from(JSON.stringify({ ...made, accepted })).toString('base64'),
    validBeforeMs: Date.now() + blockhashMs,
    expired: false,
    acknowledged: null,
  }
}

const signatureBytes = 64

/** What a payment on Solana is known by: a hash of what is signed. The transaction is base64. */
export function messageHash(transaction: string): string {
  const bytes = Buffer.from(transaction, 'base64')
  // A count of signatures that fits into one byte comes first.
  const [signatures = 0] = bytes
  return createHash('sha256')
    .update(bytes.subarray(1 + signatures * signatureBytes))
    .digest('hex')
}
