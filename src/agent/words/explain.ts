import { ClientError } from '#client/client-error.ts'
import { retryAtMs } from '#client/retry/retry.ts'
import { fromUsdNumber, type MicroUsd, zeroUsd } from '#contract/money.ts'
import { ServiceError } from '#contract/service-error.ts'
import { NeedsPerson } from '#toolkit/person.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { NeedsApproval } from '#wallet/terms/needs-approval.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import type { Core } from '../core.ts'
import { keyLimitWords } from './key-limit-words.ts'
import { personFor } from './person-for.ts'

export interface Circumstances {
  nowMs: number
  /** Whether the call could have cost something. */
  isPaid: boolean
  pays: 'wallet' | 'apiKey' | 'nothing'
  /** The address of the service, where nobody has named one and the usual one is taken. */
  usualService: string | null
}

/** Of an agent. */
export const circumstancesOf = (core: Core, isPaid: boolean): Circumstances => ({
  nowMs: core.clock.now(),
  isPaid,
  pays: core.pays,
  usualService: core.isServiceNamed ? null : core.client.address.baseUrl,
})

/** The one place where what went wrong becomes words for a model: what happened, what it cost, when to come again, what next. */
export function explain(error: unknown, circumstances: Circumstances): unknown {
  if (error instanceof NeedsPerson || error instanceof ToolFailure) return error
  if (error instanceof NeedsApproval) return personFor(error.question)
  if (error instanceof WalletRefusal) return ofWallet(error)
  if (error instanceof ClientError) return ofClient(error, circumstances)
  if (error instanceof ServiceError) return ofService(error, circumstances)
  return error
}

type NobodyPays = Pick<Core, 'lockedWallet' | 'lockedBecause' | 'isServiceNamed' | 'client'>

const howToPay = (service: string): string =>
  `Ask the person to run \`farebox wallet create --service ${service}\` in a terminal, or to set FAREBOX_API_KEY; then start this server again.`

/** As somebody meets it who has set nothing up. */
const howToBegin = (usual: string): string =>
  `Ask the person to set FAREBOX_BASE_URL in the settings of this server to the address of a service (it is not set, so ${usual} on this machine is used), then to set FAREBOX_API_KEY as well, or to run \`farebox wallet create --service ADDRESS\` in a terminal; then start this server again.`

/** Without a wallet or a key paid tools, and a proxy at its start, name the one thing that mends it. */
export const nobodyPays = (
  { lockedWallet, lockedBecause, isServiceNamed, client }: NobodyPays,
  command: 'farebox mcp' | 'farebox proxy' = 'farebox mcp',
): ToolFailure =>
  new ToolFailure({
    isWithoutWallet: true,
    ...(lockedWallet !== null && lockedBecause !== null
      ? {
          happened: `Nothing pays for this yet: ${lockedBecause.sentence}`,
          charged: zeroUsd,
          next: `${lockedBecause.nextStep} Then start this server again.`,
        }
      : lockedWallet === null
        ? {
            happened: 'Nothing pays for this yet: there is neither a wallet nor an API key.',
            charged: zeroUsd,
            next: isServiceNamed ? howToPay(client.address.baseUrl) : howToBegin(client.address.baseUrl),
          }
        : {
            happened: `Nothing pays for this yet: the key of the wallet ${lockedWallet} is encrypted, and this server was not given it.`,
            charged: zeroUsd,
            next: `Ask the person to start this server as \`${command} --passphrase-file FILE\`, or with FAREBOX_API_KEY in its environment.`,
          }),
  })

const openRules: ReadonlySet<string> = new Set(['payment-open', 'payment-rejected', 'outcome-unknown'])

export const ofWallet = ({ rule, sentence, nextStep }: WalletRefusal): ToolFailure =>
  new ToolFailure({ happened: sentence, charged: openRules.has(rule) ? 'unknown' : zeroUsd, next: nextStep })

const clientWords: Readonly<Record<ClientError['kind'], readonly [string, string]>> = {
  unreachable: [
    'The service cannot be reached.',
    'Check FAREBOX_BASE_URL and whether the service runs, then try again.',
  ],
  'no-answer': [
    'The service took the request and gave no whole answer.',
    'Look at wallet_status, then repeat the same call; a paid one is only bought again with `again: true`.',
  ],
  redirected: [
    'The service answered by a redirect, which is never followed with a credential.',
    'Let the person check FAREBOX_BASE_URL.',
  ],
  unreadable: ['The service answered what its contract does not know.', 'Let the person check FAREBOX_BASE_URL.'],
  'too-large': ['The answer of the service was too large to be read.', 'Ask for less at once.'],
  unsaved: [
    'The service made it and charged it, and it could not be written to the output folder.',
    'Let the person look whether that folder is there and may be written to, then make the same call again: it asks the service for the same result, and buys nothing by itself.',
  ],
  'no-space': [
    'The disk has no room for the file.',
    'Let the person make room in the output folder, then make the same call again.',
  ],
  'breaker-open': [
    'Too many requests failed just now, so this one was held back.',
    'Wait until then, and change what failed.',
  ],
  'limit-reached': [
    'The limits of the service leave no room for this call yet, so it was not sent.',
    'Wait until then; limits shows what is left.',
  ],
  'not-allowed': ['This request would go where this client does not send.', 'Let the person check FAREBOX_BASE_URL.'],
}

function ofClient(error: ClientError, { isPaid, usualService }: Circumstances): ToolFailure {
  const isUsual = error.kind === 'unreachable' && usualService !== null
  const [happened, next] = isUsual ? nobodyThere(usualService) : clientWords[error.kind]
  return new ToolFailure({
    happened,
    charged: isPaid && error.wasSent && error.kind !== 'redirected' ? 'unknown' : zeroUsd,
    ...(error.retryAtMs === null ? {} : { retryAtMs: Math.ceil(error.retryAtMs) }),
    next,
  })
}

const nobodyThere = (usual: string): readonly [string, string] => [
  `Nothing answers at ${new URL(usual).origin}, which is used because FAREBOX_BASE_URL is not set.`,
  'Let the person set FAREBOX_BASE_URL in the settings of this server to the address of a service, or start one on this machine by `farebox up`; then try again.',
]

const serviceWords: Readonly<Record<string, readonly [string, string]>> = {
  REQUEST_ID_NOT_FOUND: ['The service does not know this job.', 'Look at job_list.'],
  TOO_MANY_TOKENS: [
    'The question is longer than the model can read.',
    'Shorten it, or choose a model with more context.',
  ],
  PAYMENT_HEADER_NOT_ACCEPTED: [
    'The service refused a payment header.',
    'Report this; nothing in the arguments causes it.',
  ],
  AUTHENTICATION_FAILED: [
    'The service did not accept the API key or sign-in.',
    'Let the person check FAREBOX_API_KEY, or the clock of this machine.',
  ],
  X402_INVALID_SIGN_IN: [
    'The service did not accept the sign-in of the wallet.',
    'Let the person check the clock of this machine and FAREBOX_BASE_URL.',
  ],
  PAYMENT_DISCOVERY: [
    'The service saw no credential that it knows.',
    'Let the person check FAREBOX_API_KEY or the wallet.',
  ],
  UNAUTHORIZED: ['The service does not allow this to the caller.', 'Choose another model.'],
  X402_WALLET_MISMATCH: ['The service gives this to another wallet only.', 'Look at wallet_status.'],
  MODEL_NOT_FOUND: ['The service has no such model.', 'Look at models_find for ids.'],
  MEDIA_NOT_FOUND: [
    'The media are gone: expired, deleted or never there.',
    'Start a new job if they are still needed.',
  ],
  MEDIA_GONE: ['The media are gone: expired, used up or revoked.', 'Start a new job if they are still needed.'],
  RECEIPT_NOT_FOUND: [
    'The service has no receipt of this request.',
    'It was not charged, or not yet; look at wallet_receipts.',
  ],
  ROUTE_NOT_FOUND: [
    'The service does not have this, or does not have it at this address.',
    'Let the person check FAREBOX_BASE_URL.',
  ],
  PAYLOAD_TOO_LARGE: ['The request is larger than the service takes.', 'Send smaller or fewer files.'],
  CONTENT_POLICY_VIOLATION: ["The request is against the service's content policy.", 'Change what is asked for.'],
  PROVIDER_CONTENT_POLICY: ["The work was refused by its provider's content policy.", 'Change what is asked for.'],
  RATE_LIMIT_EXCEEDED: ['The limit of requests or tokens is used up.', 'Wait until then; limits shows what is left.'],
  FAILED_REQUESTS: [
    'The service blocks this caller for a while, because too many requests failed.',
    'Wait until then, and change what failed.',
  ],
  X402_CONCURRENCY_LIMIT: ['Too many requests of this wallet are under way.', 'Wait for them, then try again.'],
  BODIES_FULL: ['Too many large requests are under way.', 'Try again later, with fewer at once.'],
  MODEL_OVERLOADED: ['The model is overloaded.', 'Try again later, or choose another model.'],
  MODEL_OFFLINE: ['The model is offline.', 'Try again later, or choose another model.'],
  MODEL_AT_CAPACITY: ['The model is at capacity.', 'Try again later, or choose another model.'],
  INFERENCE_FAILED: ['The model failed at this request.', 'Try again, or choose another model.'],
  UNKNOWN_ERROR: ['The service met a fault of its own.', 'Try again later.'],
  CHARGE_UNKNOWN: [
    'The service did the work, and could not reach its books to charge for it.',
    'Look at wallet_status; `again: true` buys it anew.',
  ],
  IDEMPOTENCY_ANSWER_NOT_KEPT: [
    'The service did the work and did not keep its answer, which was lost on the way.',
    'Look at wallet_status; `again: true` buys it anew.',
  ],
  IDEMPOTENCY_KEY_REUSED: [
    'The service knows this call with other contents.',
    'Look at wallet_status; `again: true` buys it anew.',
  ],
  BOOKS_UNREACHABLE: [
    'The service cannot reach its books.',
    'Look at wallet_status in a moment, which says whether anything was charged; `again: true` makes the call anew.',
  ],
  LEDGER_READ_ONLY: ['The service checks its books and takes no paid calls meanwhile.', 'Try again later.'],
  REQUEST_TIMEOUT: ['The model took too long.', 'Ask for less, or choose a faster model.'],
}

const unknownCharges: ReadonlySet<string> = new Set([
  'CHARGE_UNKNOWN',
  'BOOKS_UNREACHABLE',
  'IDEMPOTENCY_ANSWER_NOT_KEPT',
  'IDEMPOTENCY_KEY_REUSED',
])

/** Whether a service that answered so may have charged for the call all the same. */
export const isUnknownCharge = ({ kind, status }: ServiceError): boolean =>
  unknownCharges.has(kind) || (kind === 'UNKNOWN_ANSWER' && status >= 500)

function ofService(error: ServiceError, circumstances: Circumstances): ToolFailure {
  const [happened, next] = wordsFor(error, circumstances)
  const atMs = retryAtMs(error, circumstances.nowMs)
  // Contract answers without success cost nothing; of a stranger's 5xx in between nobody knows.
  const charged: MicroUsd | 'unknown' = circumstances.isPaid && isUnknownCharge(error) ? 'unknown' : zeroUsd
  return new ToolFailure({
    happened,
    charged,
    ...(atMs === null ? {} : { retryAtMs: Math.ceil(atMs) }),
    ...creditIn(error.body),
    ...(error.kind === 'INVALID_REQUEST' ? { refusedFields: fieldsOf(error.body) } : {}),
    next,
  })
}

/** A 402 says what there is. */
function creditIn(body: unknown): { creditLeftMicroUsd?: MicroUsd } {
  const said = (body as { currentBalanceUsd?: unknown } | null)?.currentBalanceUsd
  const credit = typeof said === 'number' ? fromUsdNumber(said) : null
  return credit === null ? {} : { creditLeftMicroUsd: credit }
}

function wordsFor(error: ServiceError, { pays }: Circumstances): readonly [string, string] {
  if (error.kind === 'INVALID_REQUEST') return refusedFields(error.body)
  if (error.kind === 'INSUFFICIENT_BALANCE' || error.kind === 'PAYMENT_REQUIRED') return noCredit(pays)
  return (
    serviceWords[error.kind] ??
    keyLimitWords(error.kind, error.body) ?? [
      `The service answered ${error.status} in a way that its contract does not know.`,
      error.status >= 500 ? 'Try again later.' : 'Change the arguments, or let the person check FAREBOX_BASE_URL.',
    ]
  )
}

const noCredit = (pays: Circumstances['pays']): readonly [string, string] =>
  pays === 'apiKey'
    ? [
        'The account of this API key has too little credit.',
        'Whoever runs the account has to add credit; an API key alone is never topped up from here.',
      ]
    : [
        'The service still asks for more credit.',
        'Look at wallet_status and wallet_receipts before anything else is paid.',
      ]

function refusedFields(body: unknown): readonly [string, string] {
  const fields = fieldsOf(body)
  return [
    fields.length > 0
      ? `The service does not take these values: ${fields.join(', ')}.`
      : 'The service does not take these values.',
    'Compare them with the model’s record in models_find, then call again.',
  ]
}

/** Names of fields only: what the service says about them is a stranger's text. */
function fieldsOf(body: unknown): string[] {
  const details = (body as { details?: object } | null)?.details ?? {}
  return Object.keys(details)
    .filter(name => /^[a-z][a-zA-Z0-9_]{0,39}$/.test(name))
    .slice(0, 10)
}
