import { z } from 'zod'
import { topUpUsd } from '#contract/limits.ts'
import { microUsd } from '#contract/money.ts'
import { networkAliases, smallestTopUpMicroUsd } from '#contract/wire/networks.ts'
import { BaseUnits, type PaymentOption } from '#contract/wire/payment.ts'
import { evmRail } from '../evm/evm-rail.ts'
import type { Facilitator, Rail, Settlement, UntimelyPayment, Verdict } from '../facilitators/rail.ts'
import {
  amountOf,
  type OnChain,
  type PaymentChain,
  type ReceivedPayment,
  refusedPayment,
  type SignedPayment,
} from '../payment/payment.ts'
import { svmRail } from '../solana/svm-rail.ts'

/** Every rail, one entry each, in the order in which they are offered. */
const entries = [evmRail, svmRail] as const

type AllOf<Each> = (Each extends unknown ? (each: Each) => void : never) extends (all: infer All) => void ? All : never

/** Where top-ups go and what settles them: the settings of every rail. */
export type PaymentSettings = AllOf<Parameters<(typeof entries)[number]['options']>[0]> & {
  /** Where a wallet's owner can buy USDC; `{address}` and `{network}` are replaced with those of the wallet. */
  onRamp?: string
}

export const rails: readonly Rail<SignedPayment, PaymentSettings>[] = entries

/** Returns the rail of a payment. Throws for one that this release does not know. */
function railOf({ rail: name }: Pick<SignedPayment, 'rail'>): Rail {
  const rail = rails.find(each => each.name === name)
  if (!rail) throw new Error(`This release does not support payments on ${name}.`)
  return rail
}

/** Returns everything that is offered. Throws if a key cannot be read. */
export function paymentOptionsOf(settings: PaymentSettings): readonly PaymentOption[] {
  const { onRamp } = settings
  const options = rails.flatMap(rail => rail.options(settings))
  return onRamp === undefined ? options : options.map(each => ({ ...each, extra: { ...each.extra, onRamp } }))
}

/**
 * Returns a payment in its canonical form and the option of ours that it uses, with its terms not yet checked. Throws
 * `invalidPayment`.
 */
export function decodePayment(received: ReceivedPayment, options: readonly PaymentOption[]): SignedPayment {
  const ofScheme = options.filter(option => option.scheme === received.scheme)
  if (ofScheme.length === 0) throw refusedPayment('unsupported_scheme', { schemes: ['exact'] })
  const network = Object.hasOwn(networkAliases, received.network) ? networkAliases[received.network] : received.network
  const option = ofScheme.find(each => each.network === network)
  const rail = rails.find(each => option && each.serves(option.network))
  if (!option || !rail) throw refusedPayment('unsupported_network', { networks: ofScheme.map(each => each.network) })
  return rail.decode(received, option)
}

/** Compares a payment with our own option, whatever option the client says it accepted. Throws `invalidPayment`. */
export function checkTerms(payment: SignedPayment, received: ReceivedPayment): void {
  const { accepted } = received
  if (accepted && !BaseUnits.safeParse(accepted.amount).success) {
    throw refusedPayment('amount_not_decimal', { member: 'accepted.amount' })
  }
  railOf(payment).checkTerms(payment, received)
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

/** Returns what is wrong with the time of a payment, or null. Once it is sent, the chain's own clock decides. */
export const untimely = (payment: SignedPayment, nowMs: number): UntimelyPayment | null =>
  railOf(payment).untimely(payment, nowMs)

/** Returns the payer, normalized like an account's wallet. */
export const payerOf = (payment: SignedPayment): string => railOf(payment).payerOf(payment)

/** Returns the Unix seconds after which it can no longer land; undefined if the chain counts blocks instead. */
export const validBeforeSecondsOf = (payment: SignedPayment): number | undefined =>
  railOf(payment).validBeforeSecondsOf(payment)

/** Whether two payments with one key are the same authorization; an EVM payer can sign several with one nonce. */
export const isSamePayment = (one: SignedPayment, other: SignedPayment): boolean =>
  one.rail === other.rail && railOf(one).signedTextOf(one) === railOf(other).signedTextOf(other)

/** Returns a payee in a form that can be compared. */
export const payeeOf = ({ network, payTo }: Pick<PaymentOption, 'network' | 'payTo'>): string =>
  rails.find(rail => rail.serves(network))?.payee(payTo) ?? payTo

const Named = z.looseObject({ rail: z.string() })

/** Parses the payment of a row. Throws for an invalid text or one from a later release. */
export function readStoredPayment(text: string): SignedPayment {
  const value = JSON.parse(text)
  return railOf(Named.parse(value)).schema.parse(value)
}

/** The open rails by name; no option offers a rail that is absent. */
type ByRail<Port> = Readonly<Partial<Record<string, Port>>>

/** Passes every payment to the facilitator of its rail. */
export class RailFacilitators implements Facilitator {
  readonly #byRail: ByRail<Facilitator>

  constructor(byRail: ByRail<Facilitator>) {
    this.#byRail = byRail
  }

  async verify(payment: SignedPayment): Promise<Verdict> {
    return served(this.#byRail, payment).verify(payment)
  }

  async settle(payment: SignedPayment, earlier?: string | null): Promise<Settlement> {
    return served(this.#byRail, payment).settle(payment, earlier)
  }

  supported(): readonly string[] {
    return this.#all().flatMap(facilitator => facilitator.supported())
  }

  async problem(option: PaymentOption): Promise<string | null> {
    const facilitator = this.#all().find(each => each.supported().includes(option.network))
    return facilitator ? facilitator.problem(option) : `No facilitator settles payments on ${option.network}.`
  }

  async close(): Promise<void> {
    for (const facilitator of new Set(this.#all())) await facilitator.close?.()
  }

  #all(): Facilitator[] {
    return Object.values(this.#byRail).filter(facilitator => facilitator !== undefined)
  }
}

/** Queries the chain of each payment's rail. */
export class RailChains implements PaymentChain {
  readonly #byRail: ByRail<PaymentChain>

  constructor(byRail: ByRail<PaymentChain>) {
    this.#byRail = byRail
  }

  async find(payment: SignedPayment, transaction: string | null): Promise<OnChain> {
    return served(this.#byRail, payment).find(payment, transaction)
  }

  async dated(payment: SignedPayment): Promise<SignedPayment> {
    return (await served(this.#byRail, payment).dated?.(payment)) ?? payment
  }
}

/** A row may outlive the configuration of its rail. */
export class RailNotConfigured extends Error {
  override readonly name = 'RailNotConfigured'
}

function served<Port>(byRail: ByRail<Port>, { rail }: SignedPayment): Port {
  const port = byRail[rail]
  if (port === undefined)
    throw new RailNotConfigured(`Payments on ${rail} are no longer configured; configure them again.`)
  return port
}
