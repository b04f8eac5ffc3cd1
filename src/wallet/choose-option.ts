import { displayUsd, type MicroUsd } from '#contract/money.ts'
import type { PaymentOption } from '#contract/payment.ts'
import * as limits from './limits.ts'
import type { Order } from './order.ts'
import { isEvmAddress, type Payee, type Policy, samePayee, sameRail } from './policy.ts'
import type { Refusal, Rule } from './refusal.ts'

export interface ChosenOption {
  option: PaymentOption
  payee: Payee
  /** Whether configuration or a person has agreed to this payee. */
  isKnownPayee: boolean
  tokenName: string
  tokenVersion: string
}

export type Choice = { kind: 'chosen'; chosen: ChosenOption } | { kind: 'refused'; refusal: Refusal }

type Check = (option: PaymentOption, policy: Policy, amount: MicroUsd) => [Rule, string] | null

/**
 * Picks the first sound offer to a known payee, else the first sound one. The order in which a service lists them, its
 * decimals, texts and suggestions count for nothing; `amount` is ours.
 */
export function chooseOption(policy: Policy, order: Order, amount: MicroUsd, known: readonly Payee[]): Choice {
  const failures: [Rule, string][] = []
  const sound: ChosenOption[] = []
  for (const option of order.accepts.slice(0, limits.maxOptions)) {
    const failure = firstFailure(option, policy, amount)
    if (failure) failures.push(failure)
    else sound.push(asChosen(option, policy.origin, known))
  }
  const chosen = sound.find(candidate => candidate.isKnownPayee) ?? sound[0]
  if (chosen) return { kind: 'chosen', chosen }
  const [rule, why] = furthest(failures)
  return {
    kind: 'refused',
    refusal: {
      rule,
      sentence: `The service's offer is not paid: ${why}.`,
      nextStep: 'Nothing was signed; tell whoever runs the service, or use another one.',
    },
  }
}

/** The checks in their order; a text from outside is never repeated in what they say. */
const checks: readonly Check[] = [
  option => (isRecord(option) ? null : ['offer', 'it is no object']),
  ({ scheme }) => (scheme === 'exact' ? null : ['scheme', 'its scheme is not `exact`']),
  ({ network }, { rails }) =>
    rails.some(rail => rail.network === network) ? null : ['network', 'it is for a chain that is not allowed'],
  ({ network, asset }, { rails }) =>
    typeof asset === 'string' && rails.some(rail => sameRail(rail, { network, asset }))
      ? null
      : ['asset', 'it is for a token that is not allowed'],
  ({ extra }) => transferMethodFailure(extra),
  ({ payTo }) =>
    typeof payTo === 'string' && isEvmAddress(payTo) && !/^0x0{40}$/.test(payTo)
      ? null
      : ['recipient', 'its payee is no address'],
  ({ amount }) =>
    typeof amount === 'string' && /^[1-9]\d{0,17}$/.test(amount)
      ? null
      : ['amount-text', 'its amount is not written in plain digits'],
  ({ maxTimeoutSeconds }, policy) => lifetimeFailure(maxTimeoutSeconds, policy),
  ({ amount }, _, ours) =>
    BigInt(amount) <= ours
      ? null
      : ['price-bait', `it asks for ${displayUsd(BigInt(amount))} at least, and the order is for ${displayUsd(ours)}`],
]

function firstFailure(option: PaymentOption, policy: Policy, amount: MicroUsd): [Rule, string] | null {
  for (const check of checks) {
    const failure = check(option, policy, amount)
    if (failure) return failure
  }
  return null
}

/** The failure of the offer that came furthest says most. */
function furthest(failures: readonly [Rule, string][]): [Rule, string] {
  const order: readonly Rule[] = [
    'offer',
    'scheme',
    'network',
    'asset',
    'transfer-method',
    'token-name',
    'recipient',
    'amount-text',
    'authorization-lifetime',
    'price-bait',
  ]
  return (
    failures.toSorted((one, other) => order.indexOf(other[0]) - order.indexOf(one[0]))[0] ?? ['offer', 'it is empty']
  )
}

function transferMethodFailure(extra: PaymentOption['extra']): [Rule, string] | null {
  if (!isRecord(extra)) return ['token-name', 'it does not name its token']
  if (!isShort(extra)) return ['offer', 'its `extra` is too long']
  if (extra.assetTransferMethod !== undefined && extra.assetTransferMethod !== 'eip3009')
    return ['transfer-method', 'it wants another way of transfer than EIP-3009']
  return isTokenWord(extra.name) && isTokenWord(extra.version)
    ? null
    : ['token-name', 'it does not name its token and version']
}

/** Nesting that JSON cannot even write is as good as too long. */
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
    `its authorisation would not live from ${limits.minAuthorizationSeconds} to ${policy.maxAuthorizationSeconds} seconds`,
  ]
}

function asChosen(option: PaymentOption, origin: string, known: readonly Payee[]): ChosenOption {
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

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
