export type FindingKind =
  | 'not_balanced'
  | 'posted_differs'
  | 'held_differs'
  | 'negative_balance'
  | 'history_differs'
  | 'entry_misshapen'
  | 'unknown_account'
  | 'charged_twice'
  | 'charge_differs_from_price'
  | 'funding_differs'
  | 'refund_differs'
  | 'staking_credit_differs'
  | 'key_use_differs'
  | 'day_sum_differs'
  | 'top_up_without_payment'
  | 'payment_not_credited'
  | 'payment_amount_differs'
  | 'failed_job_not_refunded'
  | 'refunded_job_not_failed'
  | 'hold_open_and_ended'
  | 'hold_expired'
  | 'claim_differs'
  | 'credit_without_transfer'
  | 'transfer_not_credited'
  | 'transfer_without_payment'

export interface AuditFinding {
  kind: FindingKind
  /** The account, request, payment, job, hold, key, claim or entry that it is about. */
  subject: string
  sentence: string
}

/** Findings listed one by one: enough to see a pattern; the rest are counted. */
const listedFindings = 1_000

export class Findings {
  readonly listed: AuditFinding[] = []
  leftOff = 0
  driftMicroUsd = 0n

  add(kind: FindingKind, subject: string, sentence: string): void {
    if (this.listed.length < listedFindings) this.listed.push({ kind, subject, sentence })
    else this.leftOff++
  }

  addDrift(difference: bigint): void {
    this.driftMicroUsd += difference < 0n ? -difference : difference
  }
}
