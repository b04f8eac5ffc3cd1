import { topUpUsd } from '#contract/limits.ts'
import { microUsd } from '#contract/money.ts'
import { BaseUnits, type EvmAuthorization, EvmPayload, networkAliases, type PaymentOption } from '#contract/payment.ts'
import type { ServiceError } from '#contract/service-error.ts'
import { clockSkewSeconds, minimumSecondsLeft } from './bounds.ts'
import { placesOf, type ReceivedPayment } from './payment-header.ts'
import { evmPaymentKey } from './payment-key.ts'
import { refusedPayment } from './payment-reasons.ts'
import { amountOf, type EvmPayment, type SignedPayment, validBeforeSecondsOf } from './signed-payment.ts'

/** Half of the order of secp256k1: with a larger `s` a signature is another one, written a second way. */
const largestS = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

const isEvmAddress = (text: string): boolean => /^0x[0-9a-fA-F]{40}$/.test(text)

export const chainIdOf = (network: string): number => Number(network.slice('eip155:'.length))

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
  return decodeEvmPayment(received, option)
}

function decodeEvmPayment({ payload }: ReceivedPayment, option: PaymentOption): EvmPayment {
  const parsed = EvmPayload.safeParse(payload)
  if (!parsed.success) throw refusedPayment('payload_members', { members: placesOf(parsed.error.issues) })
  const authorization = canonicalAuthorization(parsed.data.authorization)
  const signature = canonicalSignature(parsed.data.signature)
  const key = evmPaymentKey(chainIdOf(option.network), option.asset, authorization)
  return { rail: 'evm', key, option: { ...option, amount: authorization.value }, authorization, signature }
}

const timeDigits = /^\d{1,78}$/

function canonicalAuthorization(written: EvmAuthorization): EvmAuthorization {
  const wrong = [
    ...(['from', 'to'] as const).filter(name => !isEvmAddress(written[name])),
    ...(['validAfter', 'validBefore'] as const).filter(name => !timeDigits.test(written[name])),
    ...(/^0x[0-9a-fA-F]{64}$/.test(written.nonce) ? [] : ['nonce']),
  ]
  if (wrong.length > 0) {
    throw refusedPayment('payload_members', { members: wrong.map(name => `payload.authorization.${name}`) })
  }
  if (!BaseUnits.safeParse(written.value).success) {
    throw refusedPayment('amount_not_decimal', { member: 'payload.authorization.value' })
  }
  return {
    from: written.from.toLowerCase(),
    to: written.to.toLowerCase(),
    value: plainDigits(written.value),
    validAfter: plainDigits(written.validAfter),
    validBefore: plainDigits(written.validBefore),
    nonce: written.nonce.toLowerCase(),
  }
}

const plainDigits = (digits: string): string => BigInt(digits).toString()

/** 65 bytes with a low `s`. Some wallets write the recovery bit as 0 or 1, which the token does not take. */
function canonicalSignature(written: string): string {
  const signature = written.toLowerCase()
  if (!/^0x[0-9a-f]{130}$/.test(signature) || BigInt(`0x${signature.slice(66, 130)}`) > largestS) {
    throw refusedPayment('invalid_signature')
  }
  const recovery = Number.parseInt(signature.slice(130), 16)
  const canonical = recovery < 27 ? recovery + 27 : recovery
  if (canonical !== 27 && canonical !== 28) throw refusedPayment('invalid_signature')
  return `${signature.slice(0, 130)}${canonical.toString(16)}`
}

/** Compares a payment with our own option, whatever the client says it accepted. Throws `invalidPayment`. */
export function checkTerms(payment: SignedPayment, { accepted }: ReceivedPayment): void {
  const { option, authorization } = payment
  if (accepted && !BaseUnits.safeParse(accepted.amount).success) {
    throw refusedPayment('amount_not_decimal', { member: 'accepted.amount' })
  }
  if (accepted && !isSameAddress(accepted.asset, option.asset)) {
    throw refusedPayment('wrong_asset', { asset: option.asset })
  }
  const recipients = accepted ? [accepted.payTo, authorization.to] : [authorization.to]
  if (!recipients.every(recipient => isSameAddress(recipient, option.payTo))) {
    throw refusedPayment('wrong_recipient', { payTo: option.payTo })
  }
  checkAmount(payment, accepted)
}

const minimum = microUsd(topUpUsd.minimum * 1_000_000)
const maximum = microUsd(topUpUsd.maximum * 1_000_000)

function checkAmount(payment: SignedPayment, accepted: ReceivedPayment['accepted']): void {
  const bounds = { minimumAmount: `${minimum}`, maximumAmount: `${maximum}` }
  const signed = amountOf(payment)
  const amounts = accepted ? [BigInt(accepted.amount), signed] : [signed]
  if (amounts.some(amount => amount < minimum)) throw refusedPayment('amount_too_low', bounds)
  if (amounts.some(amount => amount > maximum)) throw refusedPayment('amount_too_high', bounds)
  if (accepted && BigInt(accepted.amount) !== signed) throw refusedPayment('amount_mismatch')
}

const isSameAddress = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

export interface UntimelyPayment {
  expired: boolean
  refusal: ServiceError
}

/** What is wrong with the time of a payment, or null. The chain's own clock decides once it is sent. */
export function untimely(payment: SignedPayment, nowMs: number): UntimelyPayment | null {
  const now = Math.floor(nowMs / 1000)
  const validBefore = validBeforeSecondsOf(payment)
  const { maxTimeoutSeconds } = payment.option
  if (validBefore < now + minimumSecondsLeft) return { expired: true, refusal: refusedPayment('expired') }
  if (validBefore > now + maxTimeoutSeconds + clockSkewSeconds) {
    return { expired: false, refusal: refusedPayment('validity_too_long', { maxTimeoutSeconds }) }
  }
  if (Number(payment.authorization.validAfter) > now + clockSkewSeconds) {
    return { expired: false, refusal: refusedPayment('not_yet_valid') }
  }
  return null
}
