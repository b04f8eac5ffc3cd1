import { ClientError } from '#client/client-error.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { ApprovalRequired } from '#toolkit/approval.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'

/** What came of one try, as its caller sees it: the rule that refused, or that something was delivered. */
export interface Reply {
  door: string
  rule: string
  /** All words of it, to look for secrets in them. */
  said: string
}

/** The wallet's rules, by the sentence that each shows at the front doors. */
const sentences: readonly (readonly [RegExp, string])[] = [
  [/for a chain that is not allowed/, 'network'],
  [/for a token that is not allowed/, 'asset'],
  [/its scheme is not/, 'scheme'],
  [/a transfer method other than/, 'transfer-method'],
  [/does not name its token/, 'token-name'],
  [/its payee is the wallet itself/, 'recipient'],
  [/who pays the fee|as the fee payer/, 'fee-payer'],
  [/not written in plain digits/, 'amount-text'],
  [/its authorization would not be valid/, 'authorization-lifetime'],
  [/at least .+, but the wallet would pay/, 'price-bait'],
  [/is more than the cap on one/, 'max-payment'],
  [/exceed the wallet's total/, 'max-total'],
  [/in 24 hours/, 'max-day'],
  [/The wallet has just paid/, 'cooldown'],
  [/^The wallet's clock says/, 'clock'],
  [/^The wallet holds .* USDC/, 'funds'],
  [/The user has denied/, 'denied'],
  [/has to approve: .* to a new address/, 'approval-payee'],
  [/It is unknown whether/, 'outcome-unknown'],
  [/The service refused the payment/, 'payment-rejected'],
  [/still requires more credit/, 'asked-again'],
  [/answered with a redirect/, 'redirect'],
  [/no payment options for a top-up|an answer that does not match the API/, 'unreadable-offer'],
  [/in a way that does not match the API|has nothing at this address/, 'no-offer'],
  [/Too many requests/, 'breaker'],
  [/its answer was lost or incomplete/, 'no-answer'],
  [/^Invalid arguments for/, 'arguments'],
  [/ROUTE_NOT_FOUND/, 'no-offer'],
  [/The user has to approve|wallet approve/, 'approval-spend'],
]

const clientRules: Readonly<Record<string, string>> = {
  unreachable: 'left-for-nowhere',
  'no-answer': 'no-answer',
  redirected: 'redirect',
  unreadable: 'unreadable-offer',
  'too-large': 'too-large',
  'breaker-open': 'breaker',
  'not-allowed': 'origin',
}

/** The rule of a sentence; the sentence itself where no rule is known to say so. */
export const ruleOfSentence = (sentence: string): string =>
  sentences.find(([pattern]) => pattern.test(sentence))?.[1] ?? sentence.slice(0, 60)

export function ruleOfError(error: unknown): string {
  if (error instanceof ApprovalRequired) return `approval-${error.request.kind}`
  if (error instanceof ToolFailure) return ruleOfSentence(error.facts.happened)
  if (error instanceof ClientError) return clientRules[error.kind] ?? error.kind
  if (error instanceof ServiceError) return `threw ${error.status} ${error.kind}`
  throw error
}

/** A 402 without a message from the wallet was passed on: a top-up cannot fix it, or one came just before it. */
export function ruleOfResponse(status: number, refusal: string | null): string {
  if (refusal !== null) return ruleOfSentence(refusal)
  if (status === 402) return 'left-as-402'
  return status === 200 ? 'delivered' : `status-${status}`
}

/** Everything that an error says, to a user, a model or a log. */
export function wordsOf(error: unknown): string {
  const { message, facts, request, body, cause } = error as Record<string, unknown>
  return JSON.stringify([message, facts, request, body, String(cause)], (_, value) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
}
