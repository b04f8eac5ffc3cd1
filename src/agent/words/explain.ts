import { createRequire } from 'node:module'
import { ClientError } from '#client/client-error.ts'
import { retryAtMs } from '#client/retry/retry.ts'
import { lowered } from '#contract/errors/as-clause.ts'
import { KeyLimitReached } from '#contract/errors/failures.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { fromUsdNumber, type MicroUsd, zeroUsd } from '#contract/money.ts'
import { chainName } from '#contract/wire/networks.ts'
import { onRampOf } from '#contract/wire/on-ramp.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { ApprovalRequired } from '#toolkit/approval.ts'
import { refusedValues } from '#toolkit/input/explain-refusal.ts'
import { type FailureFacts, ToolFailure } from '#toolkit/tool-failure.ts'
import { diskReason } from '#wallet/records/state.ts'
import { NeedsApproval } from '#wallet/terms/approval.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import type { AgentContext } from '../context.ts'
import { approvalRequired } from './approval-words.ts'
import { saidByService, serviceWords } from './service-words.ts'
import { placeOf, typedWords } from './typed-commands.ts'

interface Circumstances {
  nowMs: number
  /** Whether the call could have cost something. */
  isPaid: boolean
  pays: 'wallet' | 'apiKey' | 'nothing'
  /** The service's address, which contains no credentials. */
  service: string
  /** The default service's address, if no setting names one. */
  usualService: string | null
}

export const circumstancesOf = (agent: AgentContext, isPaid: boolean): Circumstances => ({
  nowMs: agent.clock.now(),
  isPaid,
  pays: agent.pays,
  service: agent.client.address.baseUrl,
  usualService: agent.isServiceNamed ? null : agent.client.address.baseUrl,
})

/** Words an error as this agent does, with its commands as typed here. */
export const inWords = (error: unknown, agent: AgentContext, isPaid: boolean): unknown =>
  typedWords(explain(error, circumstancesOf(agent, isPaid)), placeOf(agent))

/**
 * The only place where errors become words for a model: what happened, what it cost, when to retry, what to do next.
 */
export function explain(error: unknown, circumstances: Circumstances): unknown {
  if (error instanceof ApprovalRequired || error instanceof ToolFailure) return error
  if (error instanceof NeedsApproval) return approvalRequired(error.approval)
  if (error instanceof WalletRefusal) return ofWallet(error)
  if (error instanceof ClientError) return ofClient(error, circumstances)
  if (error instanceof ServiceError) return ofService(error, circumstances)
  return ofDisk(error, circumstances) ?? error
}

/** A call that was made may have been charged, though its end could not be recorded. */
function ofDisk(error: unknown, { isPaid }: Circumstances): ToolFailure | null {
  const [why, nextStep] = diskReason(error) ?? []
  if (why === undefined || nextStep === undefined) return null
  return new ToolFailure({
    happened: `farebox cannot use its records on this machine: ${why}.`,
    charged: isPaid ? 'unknown' : zeroUsd,
    next: nextStep,
  })
}

type WithoutPayer = Pick<AgentContext, 'lockedWallet' | 'lockedBecause' | 'isServiceNamed' | 'isBundle' | 'client'>

const howToPay = ({ isServiceNamed, isBundle, client }: WithoutPayer): string =>
  isBundle ? howInBundle : isServiceNamed ? howToPayService(client.address.baseUrl) : howToBegin(client.address.baseUrl)

const howToPayService = (service: string): string =>
  `Ask the user to run \`farebox wallet create --service ${service}\` in a terminal, then repeat the call; or to set FAREBOX_API_KEY, then restart farebox.`

/**
 * A bundle has no command on the PATH; its client asks for the settings, and keeps the secret ones in the system's
 * keychain.
 */
const howInBundle =
  'Ask the user to open the settings of this extension in their assistant and to fill in "API key", or "Wallet key" with the private key of a new wallet on Base that has only a few dollars in it. The assistant stores both with its secrets and restarts this server.'

/** For a user who has configured nothing yet. */
const howToBegin = (usual: string): string =>
  `FAREBOX_BASE_URL is not set, so farebox uses ${usual} on this machine. Ask the user to set it to the address of a service, and FAREBOX_API_KEY to a key, in the settings of this server, then to restart farebox; or to run \`farebox wallet create --service URL\` in a terminal, then repeat the call. ${testMoney}`

/** A proxy is started in a terminal, by the user. */
const howToStartProxy = ({ isServiceNamed, client }: WithoutPayer): string =>
  isServiceNamed
    ? `Run \`farebox wallet create --service ${client.address.baseUrl}\` or set FAREBOX_API_KEY, then start the proxy again.`
    : `FAREBOX_BASE_URL is not set, so farebox uses ${client.address.baseUrl} on this machine. Set it to the address of a service, and FAREBOX_API_KEY to a key; or run \`farebox wallet create --service URL\`. Then start the proxy again. ${testMoney}`

/** The service without a setting is that of the demo, and a program's author may have forgotten this step. */
const testMoney = 'For the test money of `farebox up`, set the variables that `farebox local env` prints.'

/** Without a wallet or a key, paid tools, and a proxy at startup, name the one thing that fixes it. */
export const cannotPay = (
  context: WithoutPayer,
  command: 'farebox mcp' | 'farebox proxy' = 'farebox mcp',
): ToolFailure => {
  const { lockedWallet, lockedBecause } = context
  return new ToolFailure({
    isWithoutWallet: true,
    ...(lockedWallet !== null && lockedBecause !== null
      ? {
          happened: `The wallet cannot pay for this: ${lowered(lockedBecause.sentence)}`,
          charged: zeroUsd,
          next: `${lockedBecause.nextStep} Then repeat the call.`,
        }
      : lockedWallet === null
        ? {
            happened: 'There is neither a wallet nor an API key to pay for this.',
            charged: zeroUsd,
            next: command === 'farebox proxy' ? howToStartProxy(context) : howToPay(context),
          }
        : {
            happened: `The wallet ${lockedWallet} cannot pay for this: its key is encrypted, and this ${command === 'farebox proxy' ? 'proxy' : 'server'} has no passphrase.`,
            charged: zeroUsd,
            next:
              command === 'farebox proxy'
                ? `Start it as \`${command} --passphrase-file FILE\`, or set FAREBOX_API_KEY.`
                : `Ask the user to start this server as \`${command} --passphrase-file FILE\`, or with FAREBOX_API_KEY in its environment.`,
          }),
  })
}

/** The service refused the payment but nothing was taken so far, and its call was not made. */
const openRules: ReadonlySet<string> = new Set(['payment-open', 'outcome-unknown'])

export const ofWallet = ({ rule, sentence, nextStep }: WalletRefusal): ToolFailure =>
  new ToolFailure({ happened: sentence, charged: openRules.has(rule) ? 'unknown' : zeroUsd, next: nextStep })

const clientWords: Readonly<Record<Exclude<ClientError['kind'], 'unreachable'>, readonly [string, string]>> = {
  'no-answer': [
    'The service received the request, but its answer was lost or incomplete.',
    'To get the answer, repeat the same call; it is charged again only with `again: true`.',
  ],
  redirected: [
    'The service answered with a redirect, which is never followed with a credential.',
    'Ask the user to check FAREBOX_BASE_URL.',
  ],
  unreadable: [
    'The service gave an answer that does not match the API description.',
    'Ask the user to check FAREBOX_BASE_URL; it usually ends in /api/v1.',
  ],
  'too-large': ['The service’s answer was too large.', 'Ask for less in one call.'],
  unsaved: [
    'The service did the work and charged for it, but the result could not be written to the output folder.',
    'Ask the user to check that the folder exists and is writable, then make the same call again: it fetches the same result and is not charged again.',
  ],
  'no-space': [
    'There is no space left on the disk for the file.',
    'Ask the user to free some space in the output folder, then make the same call again.',
  ],
  'breaker-open': [
    'Too many requests to the service have failed, so this one was not sent.',
    'Fix the cause of the failures, then try again.',
  ],
  'limit-reached': [
    'The service’s rate limit has been reached, so this call was not sent.',
    'Try again when the limit resets; `limits` shows when.',
  ],
  'not-allowed': [
    'This request would go to an address that is not allowed.',
    'Try again; if it fails again, ask the user to check FAREBOX_BASE_URL.',
  ],
}

function ofClient(error: ClientError, { isPaid, service, usualService }: Circumstances): ToolFailure {
  const [usual, next] = clientWordsFor(error, service, usualService)
  // The client's own messages are the best explanation of what it does not do.
  const happened = error.kind === 'not-allowed' ? error.message : usual
  return new ToolFailure({
    happened,
    charged: isPaid && error.wasSent && error.kind !== 'redirected' ? 'unknown' : zeroUsd,
    ...(error.retryAtMs === null ? {} : { retryAtMs: Math.ceil(error.retryAtMs) }),
    next,
  })
}

function clientWordsFor(error: ClientError, service: string, usual: string | null): readonly [string, string] {
  if (isOfFile(error)) return fileWords
  const isUnreachable = error.kind === 'unreachable'
  if (usual !== null && (isUnreachable || isSilent(error))) return noServiceAt(usual)
  if (isUnreachable) return [`The service at ${service} cannot be reached.`, checkService]
  return isSilent(error) ? silentWords : clientWords[error.kind]
}

const checkService = 'Check FAREBOX_BASE_URL and whether the service is running, then try again.'

/** The host of a finished file, whose name the service chose. */
const isOfFile = ({ kind, cause }: ClientError): boolean => kind === 'unreachable' && cause instanceof ClientError

const fileWords = [
  'The finished file is on another host, which cannot be reached.',
  'Try again later: the file is fetched without another charge.',
] as const

/** Paused because the service did not answer; changing the request would fix nothing. */
const isSilent = ({ kind, cause }: ClientError): boolean =>
  kind === 'breaker-open' && cause instanceof ClientError && cause.kind === 'no-answer'

const silentWords = ['The service did not answer the last requests, so this one was not sent.', checkService] as const

const noServiceAt = (usual: string): readonly [string, string] => [
  `There is no service at ${new URL(usual).origin}, the default without FAREBOX_BASE_URL.`,
  `Ask the user to ${howToHaveService()}, then try again.`,
]

const unknownCharges: ReadonlySet<string> = new Set([
  'CHARGE_UNKNOWN',
  'LEDGER_UNREACHABLE',
  'IDEMPOTENCY_ANSWER_NOT_KEPT',
  'IDEMPOTENCY_KEY_REUSED',
])

/** Whether a service may have charged for the call although it returned this error. */
export const isUnknownCharge = ({ kind, status }: ServiceError): boolean =>
  unknownCharges.has(kind) || (kind === 'UNKNOWN_ANSWER' && status >= 500)

function ofService(error: ServiceError, circumstances: Circumstances): ToolFailure {
  const [happened, next] = wordsFor(error, circumstances)
  const atMs = retryAtMs(error, circumstances.nowMs)
  // An unsuccessful answer of the contract costs nothing. For a 5xx of another server on the way, that is unknown.
  const charged: MicroUsd | 'unknown' = circumstances.isPaid && isUnknownCharge(error) ? 'unknown' : zeroUsd
  return new ToolFailure({
    happened,
    charged,
    ...(atMs === null ? {} : { retryAtMs: Math.ceil(atMs) }),
    ...creditIn(error.body),
    ...saidWith(error),
    next,
  })
}

/** Statuses that mean a problem with the request, whatever their text. */
const refusingStatuses: ReadonlySet<number> = new Set([400, 413, 415, 422])

/** Adds what the service said, and which member it refused; for the service's own problems our words are enough. */
function saidWith(error: ServiceError): Partial<FailureFacts> {
  const { kind, status, body } = error
  const isRefusal = (status >= 400 && status < 500 && !toldByFigures.has(status)) || kind === 'NOT_SET_UP'
  if (!isRefusal && kind !== 'UNKNOWN_ANSWER') return {}
  const { said, refused } = saidByService(body)
  if (isOfModel(error)) return { said, refused: [{ name: 'model', reason: '' }] }
  if (isOfValues(error)) return { said, refused }
  return { said: [said, ...refused.map(({ reason }) => reason)].join(' ').trim() }
}

const isOfModel = ({ kind }: ServiceError): boolean => kind === 'MODEL_NOT_FOUND' || kind === 'MODEL_GONE'

/** Other kinds of services answer 422 for anything that does not fit; only the words of a policy show one. */
const isOfValues = ({ kind, status, body }: ServiceError): boolean =>
  kind === 'INVALID_REQUEST' ||
  (kind === 'UNKNOWN_ANSWER' && refusingStatuses.has(status)) ||
  (kind === 'CONTENT_POLICY_VIOLATION' && !policyWords.test(JSON.stringify(body)))

const policyWords = /polic|content|violat|safe|moderat|prohibit|harm|suggested_prompt/i

/** Credit, consent and limits, which are fully described by the figures that we parse. */
const toldByFigures: ReadonlySet<number> = new Set([402, 409, 429])

/** A 402 reports the credit. */
function creditIn(body: unknown): { creditLeftMicroUsd?: MicroUsd } {
  const said = (body as { currentBalanceUsd?: unknown } | null)?.currentBalanceUsd
  const credit = typeof said === 'number' ? fromUsdNumber(said) : null
  return credit === null ? {} : { creditLeftMicroUsd: credit }
}

function wordsFor(error: ServiceError, { pays }: Circumstances): readonly [string, string] {
  if (isOfValues(error))
    return [refusedValues, 'Compare them with the model’s record from models_find, then call again.']
  if (error.kind === 'AUTHENTICATION_FAILED' && pays === 'wallet') return keyWanted
  if (error.kind === 'INSUFFICIENT_BALANCE' || error.kind === 'PAYMENT_REQUIRED') return noCredit(pays)
  return (
    serviceWords[error.kind] ??
    keyLimitWords(error.kind, error.body) ?? [
      `The service answered ${error.status} in a way that does not match the API description.`,
      error.status >= 500 ? 'Try again later.' : 'Change the arguments, or ask the user to check FAREBOX_BASE_URL.',
    ]
  )
}

/** Some services answer a few operations only for keys. */
const keyWanted = [
  'The service did not accept the wallet’s sign-in; this call may need an API key.',
  'Ask the user to set FAREBOX_API_KEY to a key of this service or, if other calls fail too, to check the clock of this machine.',
] as const

const noCredit = (pays: Circumstances['pays']): readonly [string, string] =>
  pays === 'apiKey'
    ? [
        'The account of this API key has too little credit.',
        'Ask the owner of the account to add credit: farebox cannot buy credit for an API key.',
      ]
    : [
        'The service still requires more credit.',
        'Check wallet_status and wallet_receipts before you pay for anything else.',
      ]

type Resolve = (specifier: string) => string

/**
 * Returns what to do if no service answers: `farebox up` is named only if its chain is installed, which a bundle lacks.
 */
export function howToHaveService(resolve: Resolve = createRequire(import.meta.url).resolve): string {
  const named = 'set FAREBOX_BASE_URL in the settings of this server to the address of a service'
  return startsHere(resolve) ? `${named}, or start one on this machine with \`farebox up\`` : named
}

/** Only checks the disk: nothing is loaded. */
function startsHere(resolve: Resolve): boolean {
  try {
    resolve('@foundry-rs/anvil/package.json')
    return true
  } catch {
    return false
  }
}

/** Whether a 402 is one that credit fixes: not one for an unidentified caller, nor one of the top-up itself. */
export const wantsCredit = ({ status, kind }: ServiceError): boolean =>
  status === 402 && (kind === 'PAYMENT_REQUIRED' || kind === 'INSUFFICIENT_BALANCE')

/**
 * A key that has reached its own limit: how much of which budget is left, and when it resets, if the service says so.
 * The numbers are shown, but not the service's words.
 */
function keyLimitWords(kind: string, body: unknown): readonly [string, string] | null {
  const currency = currencies.get(kind)
  if (currency === undefined) return null
  const budget = KeyLimitReached.safeParse(body).data?.budget
  return [
    `The rest of this API key’s ${currency} budget is too small for this call.${budget ? ` ${saidOf(budget)}` : ''}`,
    'Ask the owner of the key to raise its budget or to provide another key. More credit does not help.',
  ]
}

const currencies: ReadonlyMap<string, string> = new Map([
  ['API_KEY_USD_SPEND_LIMIT_EXCEEDED', 'USD'],
  ['API_KEY_DIEM_SPEND_LIMIT_EXCEEDED', 'staking'],
])

const periods = { epoch: 'per UTC day', month: 'per UTC month', lifetime: 'in total' } as const

function saidOf({ currency, period, limit, left, startsAnewAt }: NonNullable<KeyLimitReached['budget']>): string {
  const unit = currency === 'USD' ? ' USD' : ''
  const startMs = startsAnewAt === null ? Number.NaN : Date.parse(startsAnewAt)
  const start = Number.isNaN(startMs) ? 'it does not reset' : `it resets at ${new Date(startMs).toISOString()}`
  return `${left}${unit} of ${limit}${unit} ${periods[period]} is left; ${start}.`
}

/**
 * Where USDC can be bought, added to a failure for lack of funds. The service's link appears among its own words, which
 * are marked as untrusted, because an address can contain sentences.
 */
export function withWaysToFund(
  facts: FailureFacts,
  accepts: readonly PaymentOption[],
  terms: { address: string; network: string },
): FailureFacts {
  const onRamp = onRampOf(accepts, terms)
  const ways = `Send it from another wallet, or withdraw USDC from an exchange and choose ${chainName(terms.network)} there; tokens sent on another network are lost.`
  if (!onRamp) return { ...facts, next: `${facts.next} ${ways}` }
  const proposed = 'The service also proposes a site that sells USDC, which farebox has not checked.'
  return { ...facts, next: `${facts.next} ${ways} ${proposed}`, said: onRamp.url }
}
