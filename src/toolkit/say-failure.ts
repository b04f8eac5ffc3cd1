import { displayUsd } from '#contract/money.ts'
import { secondsUntil } from './failure-output.ts'
import { serviceSaid } from './service-said.ts'
import type { FailureFacts } from './tool-failure.ts'

/** What happened, what it cost, when to come again and what to do next, in this order; then what the service said, framed. */
export function sayFailure(facts: FailureFacts, nowMs: number): string {
  const { happened, charged, retryAtMs, next } = facts
  const sentences = [happened, sayCost(charged)]
  if (retryAtMs !== undefined) {
    sentences.push(`Come again in ${secondsUntil(facts, nowMs)} s, at ${new Date(retryAtMs).toISOString()}.`)
  }
  const said = serviceSaid(facts)
  return `${[...sentences, next].join(' ')}${said === undefined ? '' : `\n${said}`}`
}

/** What a call cost that failed. */
export function sayCost(charged: FailureFacts['charged']): string {
  if (charged === 'unknown') return 'What was charged is not known; wallet_receipts and wallet_status show it.'
  return charged === 0n ? 'Nothing was charged.' : `${displayUsd(charged)} was charged.`
}
