import { bucketOf } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { answerBytes, errorBytes } from '#client/limits.ts'
import { answerHeaders } from '#client/wire/read-answer.ts'
import type { WireResponse } from '#client/wire/wire.ts'
import { copiedBody, jsonInAnswer, readBytes } from '#client/wire/write-request.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { isPaid, type Operation } from '#contract/operations/operation.ts'
import type { Clock } from '#contract/time.ts'
import { wantReceipt } from '#contract/wire/headers.ts'
import { isJsonMediaType } from '#contract/wire/media-type.ts'
import { isApproved } from '#toolkit/approval.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { NeedsApproval } from '#wallet/terms/approval.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { consentAfter409, shownMedia } from '../calls/consent.ts'
import { payAfter402, recoverOnce } from '../calls/pay-after-402.ts'
import type { AgentContext } from '../context.ts'
import type { ModelRecords } from '../prices/model-records.ts'
import type { Receipts } from '../receipts/receipts.ts'
import type { AskUser, UnpricedCalls } from '../settings/agent-options.ts'
import type { Refills } from '../wallet/refills.ts'
import { approvalRequired } from '../words/approval-words.ts'
import { wantsCredit } from '../words/explain.ts'
import { asTyped, placeOf, typedRequest, type WalletPlace } from '../words/typed-commands.ts'
import { type AllowedRequest, allowRequest } from './allow-request.ts'
import { type ProgramRequest, readProgramRequest, withMembers, withoutConsents } from './caller-request.ts'
import {
  cannotPayAnswer,
  type Fetch,
  headerText,
  messageOf,
  type Refusing,
  refusalHeader,
  refusedAnswer,
} from './refused-answer.ts'

/** The parts of an agent that a program's requests use. */
interface FetchContext extends AgentContext {
  models: ModelRecords
  receipts: Receipts
  refills: Refills
}

export interface FetchRules {
  /**
   * Makes the decisions that only the user may make; without it, a request that needs one is answered with a refusal.
   */
  ask?: AskUser | undefined
  unpriced?: UnpricedCalls | undefined
  /**
   * Whether a `consents` in the program's own request counts as the user's: for code that the user wrote, not for a
   * model's.
   */
  takesConsents: boolean
}

/**
 * Returns a `fetch` for the service's origin only. It adds the credential, checks each request's price against the caps
 * of a call, and after a 402 tops up within the policy and repeats the request once. A request that the policy refuses
 * is not sent; the answer is a 403 in the shape that OpenAI's clients parse. If a request would have to wait longer for
 * the service's limits than a call may, the answer is a 429. Streams are passed through; a redirect is an error.
 */
export function payingFetch(agent: FetchContext, rules: FetchRules): Fetch {
  const recover = recoverOnce(agent)
  return async (input, init) => {
    const request = new Request(input, init)
    const read = await readProgramRequest(agent, request)
    const sent = rules.takesConsents ? read : withoutConsents(read)
    const allowed = await withApproval(agent, rules.ask, () =>
      allowRequest(agent, agent.models, sent, rules.unpriced ?? 'ask'),
    )
    if ('refusal' in allowed) return refusedAnswer(allowed.refusal, agent.clock.now(), placeOf(agent))
    const { attempt, price } = allowed.value
    if (price && agent.pays === 'nothing') return cannotPayAnswer(agent.lockedWallet, placeOf(agent))
    try {
      // Before buying more, payments signed earlier are sent again, and the account with credit is found.
      if (price) await recover()
      const response = await answer(agent, rules, { ...allowed.value, sent, signal: request.signal })
      if (!mayBeBought(response.status)) await agent.approvals.giveBack(attempt)
      return response
    } catch (error) {
      const isRefused = error instanceof WalletRefusal
      const wasNotSent = error instanceof ClientError && !error.wasSent
      if (isRefused || wasNotSent) await agent.approvals.giveBack(attempt)
      if (isRefused || (wasNotSent && error.retryAtMs !== null))
        return refusedAnswer(error, agent.clock.now(), placeOf(agent))
      throw error
    }
  }
}

/** With any other status nothing was bought, and the user's approval can be used again. */
const mayBeBought = (status: number): boolean => status < 400 || status >= 500

interface Answering extends AllowedRequest {
  sent: ProgramRequest
  signal: AbortSignal
}

/** At most one payment and one consent; after each, the same request is sent once more. */
async function answer(agent: FetchContext, { ask }: FetchRules, answering: Answering): Promise<Response> {
  const { operation, signal } = answering
  const resolved = new Set<number>()
  for (let { sent } = answering; ; ) {
    const bucket = operation ? bucketOf(operation, { body: sent.read }) : undefined
    const wanted = isReceipted(operation) ? wantingReceipt(sent) : sent
    const sentAtMs = agent.clock.now()
    const response = await agent.client.exchange(wanted, { signal, bucket })
    const { status } = response
    if (answering.price) agent.refills.noticedIn(response, sentAtMs)
    if (status < 300 && isReceipted(operation)) {
      return asResponse(withReceiptKept(agent.receipts, { ...answering, operation }, response, agent.clock))
    }
    const isOver = !resolvable.has(status) || resolved.has(status)
    if (isOver && status !== 429) return asResponse(response)
    resolved.add(status)
    // Reading the body lets the client notice that the service blocks this caller, or has too many of its calls at
    // once.
    const { error, again } = await readRefusal(agent, answering, response)
    if (isOver) return again()
    const next = await withApproval(agent, ask, () => resolveRefusal(agent, { ...answering, sent }, error))
    if ('refusal' in next)
      return status === 402
        ? refusedAnswer(next.refusal, agent.clock.now(), placeOf(agent))
        : again(saying(next.refusal, placeOf(agent)))
    if (next.value === null) return again()
    sent = next.value
  }
}

const resolvable: ReadonlySet<number> = new Set([402, 409])

/** The service's own answer is kept, so that its text can be read; where the user can approve is added. */
const saying = (refusal: Refusing, place: WalletPlace) => ({
  [refusalHeader]: headerText(asTyped(messageOf(refusal), place)),
})

/** Returns the request to send once credit or a consent has resolved a refusal; null if neither can. */
async function resolveRefusal(
  agent: AgentContext,
  { sent, price, hash, operation, about }: Answering,
  error: ServiceError,
): Promise<ProgramRequest | null> {
  const call = { operation: operation?.id ?? null, requestHash: hash, about }
  if (wantsCredit(error)) {
    const wanted = price ?? { what: 'Credit for a request from a program', amountMicroUsd: null }
    return (await payAfter402(agent, error, wanted, call)) && sent
  }
  const consent = sent.json ? await consentAfter409(agent, error, call, shownMedia(operation, sent.json)) : null
  return consent && sent.json ? withMembers(sent, sent.json, consent.consents) : null
}

/** Returns the error that an answer represents, and the answer itself, for a caller that needs both. */
async function readRefusal({ client }: AgentContext, { operation }: AllowedRequest, response: WireResponse) {
  const bytes = await readBytes(response, errorBytes)
  const copy = { ...response, body: once(bytes) }
  const error = await client.errorOf(operation, copy)
  const again = (more: Record<string, string> = {}) => {
    const headers = new Headers(response.headers)
    for (const [name, value] of Object.entries(more)) headers.set(name, value)
    return new Response(Buffer.from(bytes), { status: response.status, headers })
  }
  return { error, again }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Runs something that may need approval, and runs it once more after the user has approved. */
async function withApproval<Value>(
  agent: AgentContext,
  ask: AskUser | undefined,
  run: () => Promise<Value>,
): Promise<{ value: Value } | { refusal: Refusing }> {
  try {
    return { value: await run() }
  } catch (refusal) {
    if (refusal instanceof NeedsApproval) {
      return ask && (await isAgreed(agent, refusal, ask)) ? withApproval(agent, undefined, run) : { refusal }
    }
    if (isRefusing(refusal)) return { refusal }
    throw refusal
  }
}

const isRefusing = (error: unknown): error is Refusing =>
  [WalletRefusal, ClientError, ServiceError, ToolFailure].some(kind => error instanceof kind)

async function isAgreed(agent: AgentContext, { approval }: NeedsApproval, ask: AskUser): Promise<boolean> {
  const decision = await ask(typedRequest(approvalRequired(approval).request, placeOf(agent)))
  await agent.approvals.resolve(approval.approvalId, { isApproved: isApproved(decision), by: 'the program' })
  return isApproved(decision)
}

/** Statuses that have no body by definition. */
const bodiless = new Set([204, 205, 304])

function asResponse({ status, headers, body, discard }: WireResponse): Response {
  if (bodiless.has(status)) {
    discard()
    return new Response(null, { status, headers })
  }
  return new Response(ReadableStream.from<Uint8Array>(body), { status, headers })
}

/** Whether a program's call is charged, so that its receipt should be kept. */
const isReceipted = (operation: Operation | null): operation is Operation => operation !== null && isPaid(operation)

/** Requests the receipt with the answer, as a tool's call does. */
const wantingReceipt = (request: ProgramRequest): ProgramRequest => ({
  ...request,
  headers: { ...request.headers, [wantReceipt.name]: wantReceipt.format(true) },
})

/**
 * Returns the answer for the program, and stores its receipt once it was read. For a stream, whose receipt comes later,
 * it only records that there was one.
 */
function withReceiptKept(
  receipts: Receipts,
  { attempt, operation, price }: AllowedRequest & { operation: Operation },
  response: WireResponse,
  clock: Clock,
): WireResponse {
  if (!price) return response
  const headers = answerHeaders(response.headers, clock.now())
  const keep = (answer: unknown, comesLater: boolean) =>
    receipts.keep(attempt, operation, { answer: answer as never, headers }, price, { comesLater })
  if (isJsonMediaType(response.headers.get('content-type') ?? undefined))
    return copiedBody(response, answerBytes, body => keep(body && (jsonInAnswer(body) ?? null), false))
  keep(null, true)
  return response
}
