import { topUpUsd } from '#contract/limits.ts'
import { microUsd } from '#contract/money.ts'
import { networkAliases, smallestTopUpMicroUsd } from '#contract/wire/networks.ts'
import { BaseUnits, type PaymentOption } from '#contract/wire/payment.ts'
import { checkEvmTerms, decodeEvmPayment, type UntimelyPayment, untimelyEvm } from '../evm/check-evm-payment.ts'
import type { ReceivedPayment } from '../payment/payment-header.ts'
import { refusedPayment } from '../payment/payment-reasons.ts'
import { amountOf, type SignedPayment } from '../payment/signed-payment.ts'
import { checkSvmTerms, decodeSvmPayment } from '../solana/check-svm-payment.ts'

/**
 * What a payment is and by which of our options, in canonical form; its terms are still to be checked. Throws
 * `invalidPayment`.
 */
export function decodePayment(received: ReceivedPayment, options: readonly PaymentOption[]): SignedPayment {
  const ofScheme = options.filter(option => option.scheme === received.scheme)
  if (ofScheme.length === 0) throw refusedPayment('unsupported_scheme', { schemes: ['exact'] })
  const network = Object.hasOwn(networkAliases, received.network) ? networkAliases[received.network] : received.network
  const option = ofScheme.find(each => each.network === network)
  if (!option) throw refusedPayment('unsupported_network', { networks: ofScheme.map(each => each.network) })
  return network?.startsWith('solana:') ? decodeSvmPayment(received, option) : decodeEvmPayment(received, option)
}

/** Compares a payment with our own option, whatever the client says it accepted. Throws `invalidPayment`. */
export function checkTerms(payment: SignedPayment, received: ReceivedPayment): void {
  const { accepted } = received
  if (accepted && !BaseUnits.safeParse(accepted.amount).success) {
    throw refusedPayment('amount_not_decimal', { member: 'accepted.amount' })
  }
  if (payment.rail === 'evm') checkEvmTerms(payment, received)
  else checkSvmTerms(payment, received)
  checkAmount(payment, accepted)
}

const maximum = microUsd(topUpUsd.maximum * 1_000_000)

function checkAmount(payment: SignedPayment, accepted: ReceivedPayment['accepted']): void {
  const bounds = { minimumAmount: `${smallestTopUpMicroUsd}`, maximumAmount: `${maximum}` }
  const signed = amountOf(payment)
  const amounts = accepted ? [BigInt(accepted.amount), signed] : [signed]
  if (amounts.some(amount => amount < smallestTopUpMicroUsd)) throw refusedPayment('amount_too_low', bounds)
  if (amounts.some(amount => amount > maximum)) throw refusedPayment('amount_too_high', bounds)
  if (accepted && BigInt(accepted.amount) !== signed) throw refusedPayment('amount_mismatch')
}

/** What is wrong with the time of a payment, or null. The chain's own clock decides once it is sent. */
export function untimely(payment: SignedPayment, nowMs: number): UntimelyPayment | null {
  // A Solana payment lives as long as the chain knows its blockhash, which nobody but the chain can tell.
  return payment.rail === 'evm' ? untimelyEvm(payment, nowMs) : null
}
