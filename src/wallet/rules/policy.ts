import { displayUsd, type MicroUsd, parseUsd } from '#contract/money.ts'
import { decodeBase58 } from '#contract/wire/base58.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import { knownNetworks, smallestTopUpMicroUsd } from '#contract/wire/networks.ts'
import * as limits from '../limits.ts'
import type { Payee, Rail } from '../terms/order.ts'
import { type Rule, WalletRefusal } from '../terms/refusal.ts'

/** What the wallet may do without approval. Nothing that a model or a service says changes it. */
export interface Policy {
  /** The one service: scheme, host and port. */
  origin: string
  rails: readonly Rail[]
  /** Payees from the configuration; those that the user approved are in the state. */
  payees: readonly Payee[]
  maxPaymentMicroUsd: MicroUsd
  /** Rolling 24 hours. */
  maxDayMicroUsd: MicroUsd
  maxTotalMicroUsd: MicroUsd
  maxCallMicroUsd: MicroUsd
  askAboveMicroUsd: MicroUsd
  /** The first top-up needs approval, whatever it is for. */
  asksFirstTopUp: boolean
  maxAuthorizationSeconds: number
  /** Time between two payments that the user did not request. */
  cooldownMs: number
  /** Decides everything, but signs no payment. */
  dryRun: boolean
  /** Null if credit is only bought after a 402 or on request. */
  refill: Refill | null
}

export interface PolicySettings {
  /** Any URL of the service; its origin is pinned. */
  serviceUrl: string
  /** Amounts of USD as decimal strings; the defaults apply to absent ones. */
  maxPaymentUsd?: string | undefined
  maxDayUsd?: string | undefined
  maxTotalUsd?: string | undefined
  maxCallUsd?: string | undefined
  askAboveUsd?: string | undefined
  /** If credit falls below the first amount, the second is bought, within the caps; set both or neither. */
  refillBelowUsd?: string | undefined
  refillByUsd?: string | undefined
  rails?: readonly Rail[]
  /** Payees of this service that the configuration pins. */
  payees?: readonly (Rail & { payTo: string })[]
  cooldownMs?: number
  dryRun?: boolean
}

export const defaultRails: readonly Rail[] = knownNetworks.map(({ network, asset }) => ({ network, asset }))

const settingNames: ReadonlySet<string> = new Set<keyof PolicySettings>([
  ...(['serviceUrl', 'maxPaymentUsd', 'maxDayUsd', 'maxTotalUsd', 'maxCallUsd', 'askAboveUsd'] as const),
  ...(['refillBelowUsd', 'refillByUsd', 'rails', 'payees', 'cooldownMs', 'dryRun'] as const),
])

/**
 * Parses a policy from settings. Throws a refusal that names an invalid or unknown setting, because a misspelled cap
 * limits nothing. `nameOf` returns the name under which the user has set an amount.
 */
export function readPolicy(
  settings: PolicySettings,
  nameOf: (setting: AmountSetting) => string = name => name,
): Policy {
  const capOf = (cap: Cap) => readUsdCap(nameOf(cap), settings[cap] ?? limits.defaultCaps[cap])
  const unknown = Object.keys(settings).find(name => !settingNames.has(name))
  if (unknown !== undefined)
    throw settingsRefusal(
      `${unknown.slice(0, 80)} is not a setting of a policy`,
      `The settings are ${[...settingNames].join(', ')}.`,
    )
  const origin = serviceOrigin(settings.serviceUrl)
  return {
    origin,
    rails: settings.rails ?? defaultRails,
    payees: (settings.payees ?? []).map(payee => ({ ...payee, origin })),
    maxPaymentMicroUsd: capOf('maxPaymentUsd'),
    maxDayMicroUsd: capOf('maxDayUsd'),
    maxTotalMicroUsd: capOf('maxTotalUsd'),
    maxCallMicroUsd: capOf('maxCallUsd'),
    askAboveMicroUsd: capOf('askAboveUsd'),
    asksFirstTopUp: false,
    maxAuthorizationSeconds: limits.maxAuthorizationSeconds,
    cooldownMs: settings.cooldownMs ?? limits.cooldownMs,
    dryRun: settings.dryRun ?? false,
    refill: readRefill(settings, nameOf),
  }
}

function readRefill(settings: PolicySettings, nameOf: (setting: AmountSetting) => string): Refill | null {
  const { refillBelowUsd: below, refillByUsd: by, maxPaymentUsd = limits.defaultCaps.maxPaymentUsd } = settings
  const names = {
    below: nameOf('refillBelowUsd'),
    by: nameOf('refillByUsd'),
    maxPayment: nameOf('maxPaymentUsd'),
  }
  const problem = refillProblem({ below, by, maxPayment: maxPaymentUsd }, names)
  if (problem) throw settingsRefusal(...problem)
  return below === undefined || by === undefined
    ? null
    : { belowMicroUsd: readUsdCap(names.below, below), byMicroUsd: readUsdCap(names.by, by) }
}

type Cap = keyof typeof limits.defaultCaps
export type AmountSetting = Cap | 'refillBelowUsd' | 'refillByUsd'

/** Parses a cap from decimal text; `name` is used in the refusal. */
export function readUsdCap(name: string, text: string): MicroUsd {
  const amount = parseUsd(text)
  if (amount !== null && amount >= 0n && amount <= limits.highestCapMicroUsd) return amount
  throw settingsRefusal(
    `${name} is not an amount in USD`,
    'Write it as a decimal number from 0 to 1000000, for example 5 or 0.25.',
  )
}

/** Returns the origin of a service's URL: https, or http on this machine. */
export function serviceOrigin(url: string): string {
  const parsed = url.length <= limits.maxOriginLength && URL.canParse(url) ? new URL(url) : null
  if (!parsed) throw settingsRefusal("The service's address is not a URL", 'Write it as https://host/api/v1.')
  if (parsed.username !== '' || parsed.password !== '')
    throw settingsRefusal("The service's address contains credentials", 'Remove them from the URL.')
  if (parsed.protocol === 'https:' || (parsed.protocol === 'http:' && isLoopback(parsed.hostname))) return parsed.origin
  throw settingsRefusal(
    "The service's address is not encrypted",
    'Use https; plain http works only for services on this machine.',
  )
}

export const settingsRefusal = (sentence: string, nextStep: string, rule: Rule = 'settings'): WalletRefusal =>
  new WalletRefusal({ rule, sentence: `${sentence}.`, nextStep })

/** Returns a policy that allows only what both allow. */
export function tighten(policy: Policy, by: Partial<Policy>): Policy {
  const least = (name: MoneyCap): MicroUsd => {
    const other = by[name]
    return other !== undefined && other < policy[name] ? other : policy[name]
  }
  const { rails, payees } = by
  return {
    origin: by.origin === undefined || by.origin === policy.origin ? policy.origin : noOrigin(policy.origin, by.origin),
    rails: rails ? policy.rails.filter(rail => rails.some(other => sameRail(rail, other))) : policy.rails,
    payees: payees ? policy.payees.filter(payee => payees.some(other => samePayee(payee, other))) : policy.payees,
    maxPaymentMicroUsd: least('maxPaymentMicroUsd'),
    maxDayMicroUsd: least('maxDayMicroUsd'),
    maxTotalMicroUsd: least('maxTotalMicroUsd'),
    maxCallMicroUsd: least('maxCallMicroUsd'),
    askAboveMicroUsd: least('askAboveMicroUsd'),
    asksFirstTopUp: policy.asksFirstTopUp || (by.asksFirstTopUp ?? false),
    maxAuthorizationSeconds: Math.min(policy.maxAuthorizationSeconds, by.maxAuthorizationSeconds ?? Infinity),
    cooldownMs: Math.max(policy.cooldownMs, by.cooldownMs ?? 0),
    dryRun: policy.dryRun || (by.dryRun ?? false),
    refill: by.refill === null ? null : policy.refill,
  }
}

type MoneyCap = Extract<keyof Policy, `${string}MicroUsd`>

function noOrigin(configured: string, other: string): never {
  throw settingsRefusal(
    `The environment names the service ${configured}, but the settings file names ${other}`,
    'Give both the same address.',
    'origin',
  )
}

/** EVM addresses compare without case; everything else is exact. */
export const sameAddress = (one: string, other: string): boolean =>
  one === other || (isEvmAddress(one) && isEvmAddress(other) && one.toLowerCase() === other.toLowerCase())

export const isEvmAddress = (text: string): boolean => /^0x[0-9a-fA-F]{40}$/.test(text)

export const isSolanaAddress = (text: string): boolean => decodeBase58(text, 32) !== null

/** Whether the text is an address on a network's chains. */
export const isAddressOn = (network: string, text: string): boolean =>
  network.startsWith('solana:') ? isSolanaAddress(text) : isEvmAddress(text)

/** Returns the CAIP-2 namespace of the chains that an address is for. */
export const namespaceOf = (address: string): 'eip155' | 'solana' => (isEvmAddress(address) ? 'eip155' : 'solana')

/** Returns the rail of a policy that an address is for; null if it allows none. */
export const railOf = ({ rails }: Pick<Policy, 'rails'>, address: string): Rail | null =>
  rails.find(({ network }) => network.startsWith(`${namespaceOf(address)}:`)) ?? null

export const sameRail = (one: Rail, other: Rail): boolean =>
  one.network === other.network && sameAddress(one.asset, other.asset)

export const samePayee = (one: Payee, other: Payee): boolean =>
  one.origin === other.origin && sameRail(one, other) && sameAddress(one.payTo, other.payTo)

/** Credit that is bought ahead of need. */
export interface Refill {
  belowMicroUsd: MicroUsd
  byMicroUsd: MicroUsd
}

/** USD as decimal texts. */
interface RefillTexts {
  below: string | undefined
  by: string | undefined
  maxPayment: string
}

type Names = Readonly<Record<keyof RefillTexts, string>>

export const refillVariables: Names = {
  below: 'FAREBOX_REFILL_BELOW_USD',
  by: 'FAREBOX_REFILL_BY_USD',
  maxPayment: 'FAREBOX_MAX_PAYMENT_USD',
}

/**
 * Returns what is wrong with the two settings together, using the names under which they were given; null if they fit.
 */
export function refillProblem(
  { below, by, maxPayment }: RefillTexts,
  names: Names,
): [what: string, step: string] | null {
  if ((below === undefined) !== (by === undefined))
    return [
      `${names.below} and ${names.by} go together, and only one of them is set`,
      'Set both to enable refills, or neither.',
    ]
  // An invalid amount is reported separately.
  const [amount, most] = [parseUsd(by ?? ''), parseUsd(maxPayment)]
  if (amount !== null && amount < smallestTopUpMicroUsd)
    return [`${names.by} is less than the smallest top-up`, `Set it to ${displayUsd(smallestTopUpMicroUsd)} or more.`]
  if (amount !== null && most !== null && amount > most)
    return [
      `${names.by} is more than ${names.maxPayment} allows, which is ${displayUsd(most)}`,
      'Lower it, or raise that cap.',
    ]
  return null
}
