import { fromUsdNumber, type MicroUsd } from '#contract/money.ts'
import type { TopUpResult } from '#contract/operations/wallet.ts'
import { normalizeWallet } from '#contract/wire/networks.ts'
import type { SettlementResponse } from '#contract/wire/payment.ts'
import { maxReasonLength, sendTimeoutMs } from '../limits.ts'
import type { Confirmation } from '../records/journal.ts'

/** The client's function for sending one signed payment. A missing answer is an outcome, never an exception. */
export type Send = (paymentSignature: string) => Promise<Sent>

export type Sent =
  | { kind: 'credited'; result: TopUpResult; settlement: SettlementResponse | null }
  | { kind: 'rejected'; status: number; reason: string }
  | { kind: 'unknown'; reason: string }

export type SendOutcome =
  | { kind: 'credited'; confirmation: Confirmation }
  | { kind: 'rejected'; reason: string }
  | { kind: 'unknown'; reason: string }

/** Sends once. It relies neither on the sender to return nor on the service to have credited this wallet. */
export async function sendOnce(send: Send, payload: string, address: string): Promise<SendOutcome> {
  const sent = await withinTime(send, payload)
  if (sent.kind === 'unknown') return { ...sent, reason: plainReason(sent.reason) }
  if (sent.kind === 'rejected') return { kind: 'rejected', reason: `${sent.status} ${plainReason(sent.reason)}` }
  const { walletAddress, amountCredited, newBalance } = sent.result.data
  if (normalizeWallet(walletAddress) !== normalizeWallet(address))
    return { kind: 'unknown', reason: 'answered for another wallet' }
  const creditedMicroUsd = positive(amountCredited)
  if (creditedMicroUsd === null) return { kind: 'unknown', reason: 'answered without a credited amount' }
  return {
    kind: 'credited',
    confirmation: {
      creditedMicroUsd,
      balanceMicroUsd: fromUsdNumber(newBalance) ?? creditedMicroUsd,
      transaction: plainTransaction(sent.settlement?.transaction),
    },
  }
}

export async function withinTime(send: Send, payload: string): Promise<Sent> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<Sent>(resolve => {
    timer = setTimeout(() => resolve({ kind: 'unknown', reason: 'no answer in time' }), sendTimeoutMs)
  })
  try {
    return await Promise.race([send(payload), tooLate])
  } catch {
    // The bytes may have left before it threw.
    return { kind: 'unknown', reason: 'the sender failed' }
  } finally {
    clearTimeout(timer)
  }
}

export function positive(amount: number): MicroUsd | null {
  const credited = fromUsdNumber(amount)
  return credited !== null && credited > 0n ? credited : null
}

/** Keeps a service's error code but not its sentences, which would be shown to users and models. */
export const plainReason = (reason: string): string =>
  /^[A-Za-z0-9_ .:-]+$/.test(reason) ? reason.slice(0, maxReasonLength) : 'no readable reason'

/** Whether the service has the payment and is waiting for its chain. */
export const isPending = (reason: string | null): boolean => reason?.endsWith(' X402_SETTLEMENT_PENDING') ?? false

export const plainTransaction = (transaction: string | undefined): string | null =>
  transaction !== undefined && /^[0-9A-Za-z]{1,128}$/.test(transaction) ? transaction : null
