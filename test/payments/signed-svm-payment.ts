import { randomBytes } from 'node:crypto'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { decodePayment } from '#payments/rails/rails.ts'
import type { SvmPayment } from '#payments/solana/svm-rail.ts'
import { newSvmAccount } from './svm-chain.ts'
import { compile, limit, price, transferOf } from './svm-transactions.ts'

/** An honest payment of five dollars, with all its parties; it is on no chain. */
export async function signedSvmPayment() {
  const [payer, payee, feePayer] = await Promise.all([newSvmAccount(), newSvmAccount(), newSvmAccount()])
  const option: PaymentOption = {
    ...{ scheme: 'exact', network: solanaNetwork, amount: '5000000', asset: usdcOnSolana, payTo: payee.address },
    ...{ maxTimeoutSeconds: 60, extra: { feePayer: feePayer.address } },
  }
  const transfer = await transferOf(payer, payee.address)
  const blockhash = encodeBase58(randomBytes(32))
  const instructions = [limit(20_000), price(1n), transfer]
  const transaction = compile({ version: 0, feePayer: feePayer.address, blockhash, instructions, signers: [payer] })
  const received = { scheme: 'exact', network: solanaNetwork, accepted: null, payload: { transaction } }
  const payment = decodePayment(received, [option]) as SvmPayment
  return { payer, payee, feePayer, option, payment, source: String(transfer.accounts?.[0]?.address) }
}
