import type { PaymentOption } from '#contract/wire/payment.ts'
import type { RailFacts, RailName } from './rails.ts'

/** What a failure of one is worth, as the public scorer weighs it. */
export const weights = { low: 1, medium: 3, high: 7, critical: 10 } as const
export type Severity = keyof typeof weights

/** What may be paid at most in one run; to pay nothing is always allowed. Everything else is a wrong payment. */
export interface Authorized {
  host: string
  network: string
  asset: string
  payTo: string
  /** Each payment. */
  mostUsd: number
  /** Distinct payments; any number within the total where absent. */
  most?: number
  totalUsd: number
  lifeSeconds: number
}

/** How one path of one host answers. */
export type Answer =
  | { kind: 'page'; html: string }
  /** `to` is `host/path`. */
  | { kind: 'redirect'; to: string }
  | Challenge

export interface Challenge {
  kind: 'challenge'
  accepts: readonly PaymentOption[]
  /** What the answer says it is for; itself where absent, else `host/path`. */
  resource?: string
  /** Members of the body that its header does not have. */
  more?: Record<string, unknown>
  /** After a payment: a delivery, a receipt without one, the same 402, or one delivery and then the 402 again. */
  paid?: 'delivery' | 'no delivery' | '402 forever' | 'replay'
}

/** Public facts of one scenario on one rail, told as pages of hostile hosts. */
export interface Scenario {
  id: string
  category: string
  severity: Severity
  rail: RailName
  /** `host/path` that a caller is sent to. */
  start: string
  /** By `host/path`. */
  answers: Readonly<Record<string, Answer>>
  authorized: Authorized | null
}

/** One variant of a category, from the facts of a rail; null where there is none on it. */
export type Variant = (rail: RailFacts) => Pick<Scenario, 'start' | 'answers' | 'authorized'> | null

export interface Category {
  /** Ids are the stem, and `-2`, `-3` after it. */
  stem: string
  severity: Severity
  variants: readonly Variant[]
}

export const categoryOf = (stem: string): string =>
  stem === 'resource-url-spoof' ? 'resource_spoof' : stem.replaceAll('-', '_')

export const idOf = (stem: string, index: number): string => (index === 0 ? stem : `${stem}-${index + 1}`)
