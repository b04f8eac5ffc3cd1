import { usd } from './say-amount.ts'
import { serviceSaid } from './service-said.ts'
import type { FailureFacts } from './tool-failure.ts'

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
  /** Null where nothing is said about when to come again. */
  retry_after_seconds: number | null
  next_step: string
  /** The service's own words, marked as data from outside; absent where it had none. */
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
export const secondsUntil = ({ retryAtMs }: FailureFacts, nowMs: number): number | null =>
  retryAtMs === undefined ? null : Math.max(0, Math.ceil((retryAtMs - nowMs) / 1000))
