import { displayUsd, type MicroUsd } from '#contract/money.ts'
import type { Shown } from './tool-context.ts'
import { usd } from './values/amounts.ts'
import { fromOutside } from './values/untrusted.ts'

export interface FailureFacts {
  /** What happened, one sentence in our words; never a stranger's text. */
  happened: string
  /** What it cost; `unknown` when an answer was lost after something may have been charged. */
  charged: MicroUsd | 'unknown'
  /** Unix time in milliseconds from which it is worth coming again. */
  retryAtMs?: number
  /** What is left of the credit and of what the wallet may pay today, where that is known. */
  creditLeftMicroUsd?: MicroUsd | null
  budgetLeftMicroUsd?: MicroUsd | null
  /** The next step, one sentence. */
  next: string
  /** Nobody pays here yet: a wallet that is opened fixes it. */
  isWithoutWallet?: true
  /** What the service said of it, in its own words: data, bounded, and shown in a frame only. */
  said?: string
  /** Where values were refused: which, none where nobody named one. */
  refused?: readonly RefusedValue[]
  /** Shown beside the words, for the user: the code of an address that lacks money. */
  shows?: readonly Shown[]
}

/** A value that the service, or its model's record, does not take. */
export interface RefusedValue {
  /** The argument of the tool; below the tools the member of the request, its path joined by dots. */
  name: string
  /** The service's words about it: data, bounded. Empty where it said no more. */
  reason: string
}

/** Why a tool could not do its work, as data; the frame turns it into words. Its message ends with the next step. */
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

/** What of an error goes into JSON, which knows no integers beyond a double: those become texts. */
export const errorAsJson = ({ name, message }: Error, facts: object): Record<string, unknown> => ({
  name,
  message,
  ...JSON.parse(JSON.stringify(facts, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))),
})

/**
 * A failure for a program, beside its words. Members have the names and shapes of what paid tools answer, because clients
 * exist that hold a failure against the output schema of its tool.
 */
export interface FailureOutput {
  [member: string]: unknown
  /** Null where it is not known. */
  charged_usd: number | null
  credit_left_usd: number | null
  budget_left_usd: number | null
  /** Null where nothing is said about when to retry. */
  retry_after_seconds: number | null
  next_step: string
  /** The service's own words, marked as untrusted data; absent where it had none. */
  service_said?: string
}

export function failureOutput(facts: FailureFacts, nowMs: number): FailureOutput {
  const said = serviceSaid(facts)
  return {
    charged_usd: facts.charged === 'unknown' ? null : usd(facts.charged),
    credit_left_usd: usd(facts.creditLeftMicroUsd ?? null),
    budget_left_usd: usd(facts.budgetLeftMicroUsd ?? null),
    retry_after_seconds: secondsUntil(facts, nowMs),
    next_step: facts.next,
    ...(said === undefined ? {} : { service_said: said }),
  }
}

/** Whole seconds until it is worth coming again, null where nothing is said about it. */
const secondsUntil = ({ retryAtMs }: FailureFacts, nowMs: number): number | null =>
  retryAtMs === undefined ? null : Math.max(0, Math.ceil((retryAtMs - nowMs) / 1000))

/** What happened, what it cost, when to retry and what to do next, in this order; then what the service said, framed. */
export function sayFailure(facts: FailureFacts, nowMs: number): string {
  const { happened, charged, retryAtMs, next } = facts
  const sentences = [happened, sayCost(charged)]
  if (retryAtMs !== undefined) {
    sentences.push(`Retry in ${secondsUntil(facts, nowMs)} s, at ${new Date(retryAtMs).toISOString()}.`)
  }
  const said = serviceSaid(facts)
  return `${[...sentences, next].join(' ')}${said === undefined ? '' : `\n${said}`}`
}

/** What a call cost that failed. */
export function sayCost(charged: FailureFacts['charged']): string {
  if (charged === 'unknown') return 'The charge is unknown; check wallet_receipts and wallet_status.'
  return charged === 0n ? 'Nothing was charged.' : `${displayUsd(charged)} was charged.`
}

/** The service's own words, framed as untrusted data; undefined where it had none. */
export function serviceSaid({ said = '', refused = [] }: FailureFacts): string | undefined {
  const reasons = refused.flatMap(({ name, reason }) => (reason === '' ? [] : [`${name}: ${reason}`]))
  const lines = [said, ...reasons].filter(line => line !== '')
  return lines.length === 0 ? undefined : fromOutside('message of the service', lines.join('\n'))
}

/** A failure as one text, for where it is written down: our sentences, then the service's words in their frame. */
export const failureAsText = (facts: FailureFacts): string =>
  [`${facts.happened} ${facts.next}`, serviceSaid(facts)].filter(Boolean).join('\n')

/** Such a text taken apart again: our sentences, and the service's words without their frame. */
export function failureFromText(text: string): Pick<FailureFacts, 'happened' | 'said'> {
  const [happened = '', ...framed] = text.split('\n')
  return framed.length > 2 ? { happened, said: framed.slice(1, -1).join('\n') } : { happened: text }
}
