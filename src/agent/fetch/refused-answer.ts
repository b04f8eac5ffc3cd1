import { ClientError } from '#client/client-error.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { NeedsApproval } from '#wallet/terms/approval.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { approvalRequired } from '../words/approval-words.ts'
import { asTyped, type WalletPlace } from '../words/typed-commands.ts'

export type Fetch = typeof globalThis.fetch

/** On a refused request, says why the wallet did not pay, or why the request was not sent. */
export const refusalHeader = 'x-farebox-refusal'

/** Why a program's request was not sent. */
export type Refusing = WalletRefusal | NeedsApproval | ClientError | ServiceError | ToolFailure

/**
 * Answers a request for which nothing was sent or paid. OpenAI's clients automatically retry a 5xx and a lost
 * connection but never a 403, and they show `error.message`.
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
  // A wait is reported as the service would, because clients retry when they are told to.
  if (refusal instanceof ClientError && refusal.retryAtMs !== null) {
    const seconds = Math.max(1, Math.ceil((refusal.retryAtMs - nowMs) / 1_000))
    return Response.json({ error }, { status: 429, headers: { ...headers, 'retry-after': `${seconds}` } })
  }
  return Response.json({ error }, { status: 403, headers: { ...headers, ...notAgain } })
}

/** Words a request for approval as for every other caller. */
export const messageOf = (refusal: Refusing): string =>
  refusal instanceof NeedsApproval ? approvalRequired(refusal.approval).message : refusal.message

const isUnpriced = (refusal: Refusing): boolean =>
  refusal instanceof NeedsApproval &&
  refusal.approval.facts.kind === 'spend' &&
  refusal.approval.facts.amountMicroUsd === null

const howToAllow =
  "With FAREBOX_UNPRICED_CALLS=allow (in createAgent, unpricedCalls: 'allow') such calls need no approval, and only the caps on payments limit their cost."

/** Pricing found no such model; the service would answer 404 too. */
function noSuchModel({ facts: { happened, next } }: ToolFailure): Response {
  // A program with a base URL has the service's list, and none of the tools.
  const message = `${happened} ${next}`.replaceAll('models_find', 'GET /models')
  const error = { message, type: 'farebox_refusal', param: 'model', code: 'model_not_found' }
  return Response.json({ error }, { status: 404, headers: notAgain })
}

/** For a paid call if there is nothing to pay with: the service's own 402 would not mention a locked wallet. */
export function cannotPayAnswer(lockedWallet: string | null, place: WalletPlace): Response {
  const said =
    lockedWallet === null
      ? 'There is neither a wallet nor an API key to pay for this. Run `farebox wallet create`, or set FAREBOX_API_KEY.'
      : `The wallet ${lockedWallet} cannot pay for this: its key is encrypted, and no passphrase was given. Pass \`passphrase\` in code, or --passphrase-file to \`farebox proxy\`.`
  const message = asTyped(said, place)
  const error = { message, type: 'farebox_refusal', param: null, code: 'no-payer' }
  return Response.json({ error }, { status: 403, headers: { [refusalHeader]: headerText(message), ...notAgain } })
}

/** Prevents automatic retries by clients. */
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

/** A request for approval names its files and its consequences; clients accept 8 KiB of headers. */
const headerCharacters = 1_800
