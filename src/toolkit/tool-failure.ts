import type { MicroUsd } from '#contract/money.ts'
import { errorAsJson } from './error-as-json.ts'

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
  /** Nobody pays here yet: a wallet that is opened mends it. */
  isWithoutWallet?: true
  /** What the service said of it, in its own words: data, bounded, and shown in a frame only. */
  said?: string
  /** Where values were refused: which, none where nobody named one. */
  refused?: readonly RefusedValue[]
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
    return errorAsJson(this, { facts: this.facts })
  }
}
