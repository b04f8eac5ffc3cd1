import { z } from 'zod'
import { BaseUnits, EvmAuthorization, EvmPayload, type PaymentOption } from '#contract/wire/payment.ts'
import { hasLowS } from '#host/signatures/evm-signature.ts'
import { clockSkewSeconds, minimumSecondsLeft, signatureBytes } from '../bounds.ts'
import type { Rail, UntimelyPayment } from '../facilitators/rail.ts'
import type { RemoteFacilitatorSettings } from '../facilitators/remote-facilitator.ts'
import { commonMembers, placesOf, type ReceivedPayment, refusedPayment } from '../payment/payment.ts'

/** Settings of the EVM network on which the service takes payments. */
export interface EvmPaymentSettings {
  /** What a 402 offers first, all on one EVM network. */
  options: readonly [PaymentOption, ...PaymentOption[]]
  rpcUrl: string
  /**
   * Blocks that must follow a payment's block before it is credited: 0 on a local chain, 5 or more (ten seconds) on
   * Base.
   */
  confirmations: number
  /** Pays the gas of settlements; never the payee's key. Absent if `facilitator` settles. */
  facilitatorKey?: `0x${string}`
  /** Another service that settles instead of our own key; the node still decides what is credited. */
  facilitator?: RemoteFacilitatorSettings
  /** What our own key may spend on gas per hour, in wei; 0.05 ETH by default. */
  feesPerHourWei?: bigint
  /**
   * Accepts payments from contracts that check their own signatures (EIP-1271). False by default, because each one runs
   * untrusted code.
   */
  contractWallets?: boolean
}

/** An EIP-3009 authorization: addresses, nonce and signature in lower case, numbers without leading zeros. */
const EvmPayment = z.strictObject({
  rail: z.literal('evm'),
  ...commonMembers,
  authorization: EvmAuthorization,
  signature: z.string(),
})
export type EvmPayment = z.output<typeof EvmPayment>

/** The rail of EVM networks, by EIP-3009. */
export const evmRail: Rail<EvmPayment, EvmPaymentSettings> = {
  name: 'evm',
  schema: EvmPayment,
  serves: network => network.startsWith('eip155:'),
  decode: decodeEvmPayment,
  checkTerms: checkEvmTerms,
  untimely: untimelyEvm,
  payerOf: ({ authorization }) => authorization.from,
  validBeforeSecondsOf: ({ authorization }) => Number(authorization.validBefore),
  signedTextOf({ authorization, signature }) {
    const { from, to, value, validAfter, validBefore, nonce } = authorization
    return [from, to, value, validAfter, validBefore, nonce, signature].join(' ')
  },
  payee: payTo => payTo.toLowerCase(),
  options: ({ options }) => options,
  open: async (settings, clock) => (await import('./open-evm.ts')).openEvm(settings, clock),
}

const isEvmAddress = (text: string): boolean => /^0x[0-9a-fA-F]{40}$/.test(text)

/** Throws `invalidPayment`. */
function decodeEvmPayment({ payload }: ReceivedPayment, option: PaymentOption): EvmPayment {
  const parsed = EvmPayload.safeParse(payload)
  if (!parsed.success) throw refusedPayment('payload_members', { members: placesOf(parsed.error.issues) })
  const authorization = canonicalAuthorization(parsed.data.authorization)
  const signature = canonicalSignature(parsed.data.signature)
  // The token lets a payer use a nonce only once, whatever else the authorization says.
  const { from, nonce } = authorization
  const key = ['evm', chainIdOf(option.network), option.asset, from, nonce].join(':').toLowerCase()
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

/** The suffix of a signature wrapped with the deployment of its wallet (ERC-6492). */
const wrapped = '6492'.repeat(16)

/**
 * 65 bytes with a low `s`. Some wallets write the recovery bit as 0 or 1, which the token rejects. Any other length can
 * only come from a contract wallet, which decides itself what it accepts.
 */
function canonicalSignature(written: string): string {
  const signature = written.toLowerCase()
  if (!/^0x([0-9a-f]{2})+$/.test(signature) || signature.length > 2 + 2 * signatureBytes) {
    throw refusedPayment('invalid_signature')
  }
  if (signature.endsWith(wrapped)) throw refusedPayment('undeployed_wallet')
  if (signature.length !== 132) return signature
  if (!hasLowS(signature)) throw refusedPayment('invalid_signature')
  const recovery = Number.parseInt(signature.slice(130), 16)
  const canonical = recovery < 27 ? recovery + 27 : recovery
  if (canonical !== 27 && canonical !== 28) throw refusedPayment('invalid_signature')
  return `${signature.slice(0, 130)}${canonical.toString(16)}`
}

/**
 * Compares everything but the amount with our own option, whatever option the client says it accepted. Throws
 * `invalidPayment`.
 */
function checkEvmTerms({ option, authorization }: EvmPayment, { accepted }: ReceivedPayment): void {
  if (accepted && !isSameAddress(accepted.asset, option.asset)) {
    throw refusedPayment('wrong_asset', { asset: option.asset })
  }
  const recipients = accepted ? [accepted.payTo, authorization.to] : [authorization.to]
  if (!recipients.every(recipient => isSameAddress(recipient, option.payTo))) {
    throw refusedPayment('wrong_recipient', { payTo: option.payTo })
  }
}

const isSameAddress = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

/** Returns what is wrong with the time of a payment, or null. Once it is sent, the chain's own clock decides. */
function untimelyEvm(payment: EvmPayment, nowMs: number): UntimelyPayment | null {
  const now = Math.floor(nowMs / 1000)
  const validBefore = Number(payment.authorization.validBefore)
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

/** Returns the number in the CAIP-2 name of an EVM chain. */
export const chainIdOf = (network: string): number => Number(network.slice('eip155:'.length))
