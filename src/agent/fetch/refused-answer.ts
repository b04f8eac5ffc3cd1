import { ClientError } from '#client/client-error.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { NeedsApproval } from '#wallet/terms/approval.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { personFor } from '../words/approval-words.ts'
import { asTyped, type WalletPlace } from '../words/typed-commands.ts'

export type Fetch = typeof globalThis.fetch

/** Says on an answer 402 why the wallet did not pay. */
export const refusalHeader = 'x-farebox-refusal'

/** Why a request of a program did not go out. */
export type Refusing = WalletRefusal | NeedsApproval | ClientError | ServiceError | ToolFailure

/**
 * Nothing was sent, or nothing was paid. Clients of OpenAI repeat a 5xx and a lost connection by themselves and a 403
 * never, and they show `error.message`.
 */
export function refusedAnswer(refusal: Refusing, nowMs: number, place: WalletPlace): Response {
  if (refusal instanceof ServiceError) {
    return Response.json(refusal.body, { status: refusal.status, headers: { ...refusal.headers, ...notAgain } })
  }
  if (refusal instanceof ToolFailure) return noSuchModel(refusal)
  const said = asTyped(messageOf(refusal), place)
  const message = isUnpriced(refusal) ? `${said} ${howToAllow}` : said
  const error = { message, type: 'farebox_refusal', param: null, code: codeOf(refusal) }
  const headers = { [refusalHeader]: headerText(message) }
  // What only has to wait is said as the service says it: clients retry when they are told to.
  if (refusal instanceof ClientError && refusal.retryAtMs !== null) {
    const seconds = Math.max(1, Math.ceil((refusal.retryAtMs - nowMs) / 1_000))
    return Response.json({ error }, { status: 429, headers: { ...headers, 'retry-after': `${seconds}` } })
  }
  return Response.json({ error }, { status: 403, headers: { ...headers, ...notAgain } })
}

/** A question as every other caller is asked it. */
export const messageOf = (refusal: Refusing): string =>
  refusal instanceof NeedsApproval ? personFor(refusal.question).message : refusal.message

const isUnpriced = (refusal: Refusing): boolean =>
  refusal instanceof NeedsApproval &&
  refusal.question.facts.kind === 'spend' &&
  refusal.question.facts.amountMicroUsd === null

const howToAllow =
  "With FAREBOX_UNPRICED_CALLS=allow (in createAgent, unpricedCalls: 'allow') such calls need no approval, and only the caps on payments limit their cost."

/** Pricing found that there is nothing to be bought by this name; the service would answer 404 as well. */
function noSuchModel({ facts: { happened, next } }: ToolFailure): Response {
  // A program with a base URL has the service's list, and none of the tools.
  const message = `${happened} ${next}`.replaceAll('models_find', 'GET /models')
  const error = { message, type: 'farebox_refusal', param: 'model', code: 'model_not_found' }
  return Response.json({ error }, { status: 404, headers: notAgain })
}

/** Of a paid call where nothing pays: the service's own 402 would not say that a wallet is there and locked. */
export function cannotPayAnswer(lockedWallet: string | null, place: WalletPlace): Response {
  const said =
    lockedWallet === null
      ? 'There is neither a wallet nor an API key to pay for this. Run `farebox wallet create`, or set FAREBOX_API_KEY.'
      : `The wallet ${lockedWallet} cannot pay for this: its key is encrypted, and no passphrase was given. Pass \`passphrase\` in code, or --passphrase-file to \`farebox proxy\`.`
  const message = asTyped(said, place)
  const error = { message, type: 'farebox_refusal', param: null, code: 'nobody-pays' }
  return Response.json({ error }, { status: 403, headers: { [refusalHeader]: headerText(message), ...notAgain } })
}

/** Against the repeats that clients make by themselves. */
export const notAgain = { 'x-should-retry': 'false' }

function codeOf(refusal: Exclude<Refusing, ServiceError | ToolFailure>): string {
  if (refusal instanceof WalletRefusal) return refusal.rule
  return refusal instanceof ClientError ? refusal.kind : 'approval'
}

export const headerText = (sentence: string): string =>
  sentence
    .replace(/[“”]/g, '"')
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, headerCharacters)

/** A question names its files and what becomes of it; clients take 8 KiB of headers. */
const headerCharacters = 1_800
