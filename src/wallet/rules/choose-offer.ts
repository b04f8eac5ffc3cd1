import { displayUsd, type MicroUsd } from '#contract/money.ts'
import { isObject } from '#contract/wire/json.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { isSolanaProgram } from '../chains/solana.ts'
import * as limits from '../limits.ts'
import type { ChosenOffer, Order, Payee } from '../terms/order.ts'
import type { Refusal, RefusedTerms, Rule } from '../terms/refusal.ts'
import { isAddressOn, isSolanaAddress, namespaceOf, type Policy, sameAddress, samePayee, sameRail } from './policy.ts'

type Choice = { kind: 'chosen'; chosen: ChosenOffer } | { kind: 'refused'; refusal: Refusal }

interface Terms {
  policy: Policy
  /** Determined by us. */
  amount: MicroUsd
  /** The address whose key would sign. */
  payer: string
}

type Check = (option: PaymentOption, terms: Terms) => [Rule, string] | null

/**
 * Picks the first acceptable offer to a known payee, or else the first acceptable one. The service's order, decimals,
 * texts and suggestions are ignored; we decide the `amount`.
 */
export function chooseOffer(
  { policy, amount, payer }: Terms,
  order: Pick<Order, 'accepts'>,
  known: readonly Payee[],
): Choice {
  const failures: Failure[] = []
  const payable: ChosenOffer[] = []
  for (const option of order.accepts.slice(0, limits.maxOptions)) {
    const failure = firstFailure(option, { policy, amount, payer })
    if (failure) failures.push(failure)
    else payable.push(asChosen(option, policy.origin, known))
  }
  const chosen = payable.find(candidate => candidate.isKnownPayee) ?? payable[0]
  if (chosen) return { kind: 'chosen', chosen }
  // Reports the failure of the offer that passed the most checks.
  const [furthest] = failures.toSorted((one, other) => other.passed - one.passed)
  const { rule, why, option } = furthest ?? ({ rule: 'offer', why: 'it is empty', option: null } as const)
  return {
    kind: 'refused',
    refusal: {
      rule,
      sentence: `The wallet does not accept this offer of the service: ${why}.`,
      nextStep: 'Nothing was signed. Tell the operator of the service, or use another one.',
      terms: offered(option, rule === 'price-bait' ? amount : null),
    },
  }
}

/** The checks in order; their sentences never repeat untrusted text. */
const checks: readonly Check[] = [
  option => (isObject(option) ? null : ['offer', 'it is not an object']),
  ({ scheme }) => (scheme === 'exact' ? null : ['scheme', 'its scheme is not `exact`']),
  ({ network }, { policy, payer }) =>
    policy.rails.some(rail => rail.network === network) && network.startsWith(`${namespaceOf(payer)}:`)
      ? null
      : ['network', 'it is for a chain that is not allowed'],
  ({ network, asset }, { policy }) =>
    typeof asset === 'string' && policy.rails.some(rail => sameRail(rail, { network, asset }))
      ? null
      : ['asset', 'it is for a token that is not allowed'],
  (option, { payer }) =>
    namespaceOf(payer) === 'solana' ? feePayerFailure(option, payer) : transferMethodFailure(option),
  ({ network, payTo }, { payer }) =>
    typeof payTo === 'string' && isAddressOn(network, payTo) && !isZeroAddress(payTo) && !sameAddress(payTo, payer)
      ? null
      : ['recipient', 'its payee is the wallet itself or not a valid address'],
  ({ amount }) =>
    typeof amount === 'string' && /^[1-9]\d{0,17}$/.test(amount)
      ? null
      : ['amount-text', 'its amount is not written in plain digits'],
  ({ maxTimeoutSeconds }, { policy }) => lifetimeFailure(maxTimeoutSeconds, policy),
  ({ amount }, { amount: ours }) =>
    BigInt(amount) <= ours
      ? null
      : [
          'price-bait',
          `it asks for at least ${displayUsd(BigInt(amount))}, but the wallet would pay ${displayUsd(ours)}`,
        ],
]

/** Returns the first check that the offer fails, and how many it passed before; null if it passes all of them. */
function firstFailure(option: PaymentOption, terms: Terms): Failure | null {
  for (const [passed, check] of checks.entries()) {
    const failure = check(option, terms)
    if (failure) return { rule: failure[0], why: failure[1], option, passed }
  }
  return null
}

interface Failure {
  rule: Rule
  why: string
  option: unknown
  /** How many checks it passed. */
  passed: number
}

/** Returns what a record may contain about an offer: a service's words only if they are plain. */
function offered(option: unknown, ours: MicroUsd | null): RefusedTerms {
  const { network, asset, payTo, amount } = isObject(option) ? option : {}
  return {
    ...(isPlain(network) && { network }),
    ...(isPlain(asset) && { asset }),
    ...(isPlain(payTo) && { payTo }),
    ...(ours !== null && { amountMicroUsd: BigInt(String(amount)), limitMicroUsd: ours }),
  }
}

/** The form of addresses and chain names. */
const isPlain = (value: unknown): value is string => typeof value === 'string' && /^[\w:.-]{1,128}$/.test(value)

function transferMethodFailure({ extra }: PaymentOption): [Rule, string] | null {
  if (!isObject(extra)) return ['token-name', 'it does not name its token']
  if (!isShort(extra)) return ['offer', 'its `extra` is too long']
  if (extra.assetTransferMethod !== undefined && extra.assetTransferMethod !== 'eip3009')
    return ['transfer-method', 'it requires a transfer method other than EIP-3009']
  return isTokenWord(extra.name) && isTokenWord(extra.version)
    ? null
    : ['token-name', 'it does not name its token and version']
}

/** The fee payer signs the whole transaction too; it must never be this wallet. */
function feePayerFailure({ extra }: PaymentOption, payer: string): [Rule, string] | null {
  if (!isObject(extra)) return ['fee-payer', 'it does not name the account that pays the fee']
  if (!isShort(extra)) return ['offer', 'its `extra` is too long']
  const { feePayer } = extra
  if (typeof feePayer !== 'string' || !isSolanaAddress(feePayer) || isZeroAddress(feePayer))
    return ['fee-payer', 'it does not name the account that pays the fee']
  if (isSolanaProgram(feePayer)) return ['fee-payer', 'it names a program as the fee payer']
  return feePayer === payer ? ['fee-payer', 'it names this wallet as the fee payer'] : null
}

/** Addresses for which no key can exist. */
const isZeroAddress = (address: string): boolean => /^(0x0{40}|1{32})$/.test(address)

/** Nesting that JSON cannot write counts as too long. */
function isShort(extra: Record<string, unknown>): boolean {
  try {
    return JSON.stringify(extra).length <= limits.maxExtraBytes
  } catch {
    return false
  }
}

const isTokenWord = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= limits.maxTokenNameLength

function lifetimeFailure(seconds: number, policy: Policy): [Rule, string] | null {
  if (
    Number.isInteger(seconds) &&
    seconds >= limits.minAuthorizationSeconds &&
    seconds <= policy.maxAuthorizationSeconds
  )
    return null
  return [
    'authorization-lifetime',
    `its authorization would not be valid for ${limits.minAuthorizationSeconds} to ${policy.maxAuthorizationSeconds} seconds`,
  ]
}

function asChosen(option: PaymentOption, origin: string, known: readonly Payee[]): ChosenOffer {
  const { network, asset, payTo, extra } = option
  const payee = { origin, network, asset, payTo }
  return {
    option,
    payee,
    isKnownPayee: known.some(other => samePayee(payee, other)),
    tokenName: String(extra?.name),
    tokenVersion: String(extra?.version),
  }
}
