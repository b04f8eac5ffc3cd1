import { displayUsd, type MicroUsd } from '#contract/money.ts'
import type { Shown } from './tool-context.ts'
import { usd } from './values/amounts.ts'
import { fromOutside } from './values/untrusted.ts'

/** The facts about a failed call that its caller needs. */
export interface FailureFacts {
  /** What happened, in one sentence that contains no untrusted text. */
  happened: string
  /** What it cost; `unknown` if an answer was lost after something may have been charged. */
  charged: MicroUsd | 'unknown'
  /** Unix time in milliseconds from which a retry makes sense. */
  retryAtMs?: number
  /** The remaining credit, and the amount that the wallet may still pay today, if known. */
  creditLeftMicroUsd?: MicroUsd | null
  budgetLeftMicroUsd?: MicroUsd | null
  /** The next step, in one sentence. */
  next: string
  /** There is nothing to pay with yet; creating or unlocking a wallet fixes it. */
  isWithoutWallet?: true
  /** What the service said about it, in its own words: data, limited in length, and only shown marked as untrusted. */
  said?: string
  /** The refused values, if the service refused values; empty if it named none. */
  refused?: readonly RefusedValue[]
  /** Shown to the user in addition to the words: the QR code of an address that needs money. */
  shows?: readonly Shown[]
}

/** A value that the service, or its model's record, does not accept. */
export interface RefusedValue {
  /** The tool's argument. For calls without a tool, the member of the request, with its path joined by dots. */
  name: string
  /** The service's words about it: data, limited in length. Empty if it gave no reason. */
  reason: string
}

/** Why a tool could not do its work, as data; the server turns it into words. The message ends with the next step. */
export class ToolFailure extends Error {
  readonly facts: FailureFacts

  constructor(facts: FailureFacts) {
    super(`${facts.happened} ${facts.next}`)
    this.name = 'ToolFailure'
    this.facts = facts
  }

  /** For a log: amounts as texts of micro-USD. */
  toJSON(): Record<string, unknown> {
    const { shows: _, ...facts } = this.facts
    return errorAsJson(this, { facts })
  }
}

/** Returns what JSON can contain of an error: integers beyond a double become text. */
export const errorAsJson = ({ name, message }: Error, facts: object): Record<string, unknown> => ({
  name,
  message,
  ...JSON.parse(JSON.stringify(facts, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))),
})

/**
 * A failure as data for a program, in addition to the text. Members have the names and shapes of paid tools' answers,
 * because some clients validate a failure against the tool's output schema.
 */
export interface FailureOutput {
  [member: string]: unknown
  /** What happened, one sentence. */
  message: string
  /** Null if unknown. */
  charged_usd: number | null
  credit_left_usd: number | null
  budget_left_usd: number | null
  /** Null if there is no hint when to retry. */
  retry_after_seconds: number | null
  next_step: string
  /** The service's own words, marked as untrusted data; absent if it had none. */
  service_said?: string
}

export function failureOutput(facts: FailureFacts, nowMs: number): FailureOutput {
  const said = serviceSaid(facts)
  return {
    message: facts.happened,
    charged_usd: facts.charged === 'unknown' ? null : usd(facts.charged),
    credit_left_usd: usd(facts.creditLeftMicroUsd ?? null),
    budget_left_usd: usd(facts.budgetLeftMicroUsd ?? null),
    retry_after_seconds: secondsUntil(facts, nowMs),
    next_step: facts.next,
    ...(said === undefined ? {} : { service_said: said }),
  }
}

/** Returns whole seconds until a retry makes sense, null if unknown. */
const secondsUntil = ({ retryAtMs }: FailureFacts, nowMs: number): number | null =>
  retryAtMs === undefined ? null : Math.max(0, Math.ceil((retryAtMs - nowMs) / 1000))

/**
 * Formats what happened, what it cost, when to retry and what to do next, in this order; then the service's own words,
 * marked as untrusted.
 */
export function sayFailure(facts: FailureFacts, nowMs: number): string {
  const { happened, charged, retryAtMs, next } = facts
  const sentences = [happened, sayCost(charged)]
  if (retryAtMs !== undefined) {
    sentences.push(`Retry in ${secondsUntil(facts, nowMs)} s, at ${new Date(retryAtMs).toISOString()}.`)
  }
  const said = serviceSaid(facts)
  return `${[...sentences, next].join(' ')}${said === undefined ? '' : `\n${said}`}`
}

/** Formats what a failed call cost. */
export function sayCost(charged: FailureFacts['charged']): string {
  if (charged === 'unknown') return 'The charge is unknown; check wallet_receipts and wallet_status.'
  return charged === 0n ? 'Nothing was charged.' : `${displayUsd(charged)} was charged.`
}

/** Returns the service's own words, marked as untrusted data; undefined if it had none. */
export function serviceSaid({ said = '', refused = [] }: FailureFacts): string | undefined {
  const reasons = refused.flatMap(({ name, reason }) => (reason === '' ? [] : [`${name}: ${reason}`]))
  const lines = [said, ...reasons].filter(line => line !== '')
  return lines.length === 0 ? undefined : fromOutside('message of the service', lines.join('\n'))
}

/** Returns a failure as one text, to be stored: our sentences, then the service's words marked as untrusted. */
export const failureAsText = (facts: FailureFacts): string =>
  [`${facts.happened} ${facts.next}`, serviceSaid(facts)].filter(Boolean).join('\n')

/** Splits the text of `failureAsText` into our sentences and the service's words, without their marks. */
export function failureFromText(text: string): Pick<FailureFacts, 'happened' | 'said'> {
  const [happened = '', ...framed] = text.split('\n')
  return framed.length > 2 ? { happened, said: framed.slice(1, -1).join('\n') } : { happened: text }
}
