/**
 * Rules by which the wallet chooses not to pay. All other rules mean that it could not pay, that another process is
 * paying at the moment, or that a payment is still open, which has its own row.
 */
const policyRules = [
  ...(['stopped', 'origin', 'offer', 'scheme', 'network', 'asset', 'transfer-method', 'recipient'] as const),
  ...(['amount-text', 'token-name', 'fee-payer', 'authorization-lifetime', 'minimum', 'price-bait', 'order'] as const),
  ...(['max-payment', 'max-day', 'max-total', 'max-call', 'cooldown', 'denied', 'expired'] as const),
  ...(['too-many-questions', 'other-journal', 'journal-behind', 'clock'] as const),
]

/** The rule that refused. A program may branch on it; the user reads the sentence. */
export type Rule =
  | (typeof policyRules)[number]
  | 'dry-run'
  | 'funds'
  | 'refill-unseen'
  | 'top-up-running'
  | 'lease-lost'
  | 'payment-open'
  | 'payment-rejected'
  | 'outcome-unknown'
  | 'key'
  | 'node'
  | 'settings'
  | 'state'
  | 'journal-away'
  | 'other-owner'
  | 'not-found'

export const isPolicyRule = (rule: Rule): boolean => policyRules.some(each => each === rule)

export interface Refusal {
  rule: Rule
  /** What happened, with its figures. Contains no key, signature or untrusted words. */
  sentence: string
  nextStep: string
  /** The terms to which the rule was applied, if the sentence does not give them all; for the record. */
  terms?: RefusedTerms | undefined
}

/** What was refused, as far as known. Contains a service's words only if they are plain. */
export interface RefusedTerms {
  address?: string
  network?: string
  asset?: string
  payTo?: string
  amountMicroUsd?: bigint
  limitMicroUsd?: bigint
  /** What was left of the limit. */
  leftMicroUsd?: bigint
  requestHash?: string
}

/**
 * A refusal of the wallet. Unless the rule is `outcome-unknown`, `payment-open` or `payment-rejected`, nothing was
 * signed.
 */
export class WalletRefusal extends Error implements Refusal {
  override readonly name = 'WalletRefusal'
  readonly rule: Rule
  readonly sentence: string
  readonly nextStep: string
  readonly terms: RefusedTerms | undefined

  constructor({ rule, sentence, nextStep, terms }: Refusal, options?: ErrorOptions) {
    super(`${sentence} ${nextStep}`, options)
    this.rule = rule
    this.sentence = sentence
    this.nextStep = nextStep
    this.terms = terms
  }
}
