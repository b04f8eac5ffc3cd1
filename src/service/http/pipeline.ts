import type { Grant } from '#access/limits/guards.ts'
import { discovery, keyCreditRequired, keyLimitReached, walletCredit } from '#access/payment-required.ts'
import { adminKeyRequired, authenticationFailed } from '#contract/errors/errors.ts'
import { isBlameless, ServiceError } from '#contract/errors/service-error.ts'
import type { CountedFor } from '#contract/limits.ts'
import { addUsd, zeroUsd } from '#contract/money.ts'
import { isPaid, type Operation } from '#contract/operations/operation.ts'
import { balanceDiem, balanceUsd, hostName, limitRequests, retryCount } from '#contract/wire/headers.ts'
import type { Span } from '#host/tracing/open-telemetry.ts'
import { inRequest, type RequestContext, traceOf } from '#host/tracing/request-context.ts'
import { failedStatus, idsOf, inSpan, requestSpan } from '#host/tracing/spans.ts'
import { admissionFloor } from '#ledger/accounts/admission-floor.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import { spendableForMs } from '#ledger/bounds.ts'
import type { Spendable } from '#ledger/charges/funding.ts'
import { InsufficientCredit, OverBudget } from '#ledger/charges/refusals.ts'
import { answerWithReceipt } from './answer-receipt.ts'
import { takeLimits, tellLimits, withinLimits } from './body/call-limits.ts'
import { readDemand } from './body/demand.ts'
import { parseRequest } from './body/parse-request.ts'
import { type BodySource, readBody } from './body/read-body.ts'
import { sendJson } from './body/send.ts'
import { requireSingleHeaders } from './body/single-headers.ts'
import type { Call, Work } from './call.ts'
import { endedRequest } from './ended-request.ts'
import { setCommonHeaders } from './every-answer.ts'
import type { Exchange } from './exchange.ts'
import { failedAnswer, topUpAnswer } from './failed-answer.ts'
import { isKnownKey, oncePerKey } from './idempotency/once-per-key.ts'
import type { Route } from './route.ts'
import type { Service } from './service.ts'

export interface Incoming {
  exchange: Exchange
  params: Record<string, string>
  query: Readonly<Record<string, string | readonly string[] | undefined>>
  body: BodySource
}

/**
 * The order of every request: guard by address, identify, guard by principal, body, validation, what was answered to
 * the same key before, rate limit, route.
 * Whatever is thrown on the way becomes its answer here and nowhere else.
 */
export function answer(route: Route, incoming: Incoming, service: Service): Promise<Response> {
  const { exchange } = incoming
  return told(route.operation.id, exchange, service, async () => {
    setCommonHeaders(exchange, service)
    exchange.demand = { operation: route.operation, model: null, isUnread: true }
    try {
      requireSingleHeaders(exchange)
      return await succeed(route, incoming, service)
    } catch (error) {
      return fail(route, exchange, service, error)
    }
  })
}

/** Runs what answers a request with its context, and tells of it once its last byte has left. */
export function told(
  operation: string,
  exchange: Exchange,
  service: Pick<Service, 'requestEnded' | 'underway'>,
  run: () => Promise<Response>,
): Promise<Response> {
  const { requestId } = exchange
  const trace = traceOf(name => exchange.header(name))
  const span = requestSpan(operation, trace, { 'farebox.request_id': requestId })
  const context: RequestContext = { requestId, trace, account: null, retries: 0 }
  if (span) context.traceId = idsOf(span).traceId
  exchange.context = context
  exchange.onEnd(service.underway.begin())
  const whole = async () => {
    const response = await run()
    exchange.whenOver(() => {
      if (span) endSpan(span, exchange, context)
      service.requestEnded(endedRequest(operation, exchange, context))
    })
    return response
  }
  return inRequest(context, () => inSpan(span, whole))
}

function endSpan(span: Span, { status }: Exchange, { retries }: RequestContext): void {
  span.setAttribute('http.response.status_code', status)
  if (retries) span.setAttribute('farebox.retries', retries)
  if (status >= 500) span.setStatus({ code: failedStatus })
  span.end()
}

async function succeed(route: Route, incoming: Incoming, service: Service): Promise<Response> {
  const { exchange } = incoming
  const { requireCredit, spendable } = await admit(route, exchange, service)
  const { principal } = exchange
  const requireNewWork = () => {
    requireCredit()
    if (principal && isPaid(route.operation)) service.unread.admit(principal.account)
  }
  await requireCreditOrKnownKey(requireCredit, route.operation, exchange, service)
  exchange.onEnd(service.guards.enter(exchange))
  const room = service.guards.bodyRoom(exchange)
  exchange.onEnd(() => room.end())
  exchange.demand = { operation: route.operation, model: null }
  const body = await readBody(route.operation, incoming.body, bytes => room.add(bytes))
  exchange.demand = readDemand(route.operation, body, service)
  const request = parseRequest(route.operation, { ...incoming, body })
  return oncePerKey({ operation: route.operation, exchange, request, requireNewWork, service }, async work => {
    const take = (countedFor?: CountedFor) =>
      takeLimits({ operation: route.operation, body: request.body, countedFor }, exchange, service)
    // A top-up counts itself, because only it can tell a payment that has come before.
    const grant = route.operation.charge === 'payment' ? null : await take()
    const call = callOf({ exchange, request, spendable, grant, take, work })
    const reply = await withinLimits(grant, { exchange, signal: work.signal }, () => route.answer(call, service))
    tellRetries(exchange)
    await tellLimits(exchange, service)
    if (reply.kind === 'json' || reply.kind === 'bytes')
      await answerWithReceipt({ operation: route.operation, exchange, service }, work.requestId)
    return reply
  })
}

/** An answer that was paid for is given again, whatever credit is left; whoever has none may send a body for no other. */
async function requireCreditOrKnownKey(
  requireCredit: () => void,
  operation: Operation,
  exchange: Exchange,
  service: Service,
): Promise<void> {
  try {
    requireCredit()
  } catch (error) {
    if (!(await isKnownKey(operation, exchange, service))) throw error
  }
}

interface Admission {
  /** Throws `InsufficientCredit` where a new call would. */
  requireCredit(): void
  spendable: Call['spendable']
}

/** Who calls, and may they: a block by address answers only those who do not identify themselves. */
async function admit(route: Route, exchange: Exchange, service: Service): Promise<Admission> {
  const { operation } = route
  exchange.principal = await identified(operation, exchange, service)
  service.guards.admit(exchange)
  const { principal } = exchange
  if (exchange.context) exchange.context.account = principal?.account ?? null
  if (!operation.auth.length) {
    // A public operation answers while the ledger is away, without balances then.
    if (principal) await tellBalance(principal, exchange, service).catch(() => undefined)
    return anybody
  }
  if (!principal) {
    if (!operation.auth.includes('wallet')) throw authenticationFailed()
    throw discovery(service.settings, operation, service.identity.challenge())
  }
  if (operation.adminKey && !(principal.kind === 'key' && principal.role === 'ADMIN')) throw adminKeyRequired()
  const { clock, funding } = service
  const readAtMs = clock.now()
  const read = await tellBalance(principal, exchange, service)
  const { usd, staking } = read
  return {
    requireCredit() {
      if (principal.kind !== 'wallet' || !isPaid(operation) || usd + (staking ?? zeroUsd) >= admissionFloor) return
      throw new InsufficientCredit(admissionFloor)
    },
    spendable: async () => (clock.now() - readAtMs <= spendableForMs ? read : funding.spendable(principal)),
  }
}

async function tellBalance(principal: Principal, exchange: Exchange, { funding }: Service): Promise<Spendable> {
  const read = await funding.spendable(principal)
  exchange.set(balanceUsd, read.usd)
  if (read.staking !== null) exchange.set(balanceDiem, read.staking)
  return read
}

const anybody: Admission = {
  requireCredit() {},
  spendable: () => Promise.reject(new Error('A call without a principal has nothing to pay with.')),
}

/** A wrong credential from a blocked address is answered by the block; it proves nobody. */
async function identified(operation: Operation, exchange: Exchange, service: Service) {
  try {
    return await service.identity.identify(operation, name => exchange.header(name))
  } catch (error) {
    service.guards.admit(exchange)
    throw error
  }
}

/** Attempts at the model's upstreams beyond the first (brief §9). */
function tellRetries(exchange: Exchange): void {
  const retries = exchange.context?.retries
  if (retries) exchange.set(retryCount, retries)
}

interface CallParts {
  exchange: Exchange
  request: object
  spendable: Call['spendable']
  grant: Grant | null
  take: (countedFor?: CountedFor) => Promise<Grant>
  work: Work
}

const callOf = ({ exchange, request, spendable, grant, take, work }: CallParts): Call =>
  ({
    ...request,
    requestId: work.requestId,
    holdId: work.holdId,
    signal: work.signal,
    goOn: () => work.goOn(),
    stay: () => work.stay(),
    unread: () => work.unread(),
    hasKey: work.hasKey,
    keep: reply => work.keep(reply),
    keepStream: lastEvents => work.keepStream(lastEvents),
    principal: exchange.principal,
    spendable,
    address: exchange.address,
    header: name => exchange.header(name),
    set: (codec, value) => exchange.set(codec, value),
    tokensUsed: tokens => grant?.correct(tokens),
    count: async countedFor => void (await take(countedFor)),
  }) as Call

/** The one place where an error goes on the wire. `route` is null for addresses outside the operations table. */
export async function fail(
  route: Route | null,
  exchange: Exchange,
  service: Service,
  thrown: unknown,
): Promise<Response> {
  exchange.ended()
  const error = await answerOf(route, exchange, service, thrown).catch(another =>
    unforeseen(route, exchange, service, another),
  )
  // The block's own answers must not renew the block; who has left was given no answer at all.
  if (!exchange.isExempt && !isBlameless(error) && !exchange.signal.aborted) service.guards.failed(exchange)
  if (exchange.demand) service.guards.refused(exchange, exchange.demand, error)
  tellRetries(exchange)
  exchange.set(hostName, service.settings.hostName)
  if (!(limitRequests.name in error.headers)) await tellLimits(exchange, service)
  exchange.setAll(error.headers)
  return sendJson(exchange, error.status, error.body)
}

/** What an error says on the wire. */
async function answerOf(
  route: Route | null,
  exchange: Exchange,
  service: Service,
  thrown: unknown,
): Promise<ServiceError> {
  if (thrown instanceof ServiceError) return route?.operation.charge === 'payment' ? topUpAnswer(thrown) : thrown
  const { principal } = exchange
  const isMoney = thrown instanceof InsufficientCredit || thrown instanceof OverBudget
  if (!isMoney || !principal || !route) return unforeseen(route, exchange, service, thrown)
  const asked = [service.settings, route.operation, service.identity.challenge()] as const
  if (thrown instanceof OverBudget)
    return keyLimitReached(...asked, thrown, await service.funding.keyLimit(principal, thrown.limit))
  const { usd, staking } = await service.funding.spendable(principal)
  const credit = { availableMicroUsd: addUsd(usd, staking ?? zeroUsd), neededMicroUsd: thrown.neededMicroUsd }
  return principal.kind === 'key' ? keyCreditRequired(...asked, credit) : walletCredit(...asked, credit)
}

/** Logged by its request id; the caller learns nothing else. */
function unforeseen(route: Route | null, exchange: Exchange, service: Service, thrown: unknown): ServiceError {
  if (!exchange.signal.aborted) {
    const name = thrown instanceof Error ? thrown.name : typeof thrown
    service.log.error(
      { requestId: exchange.requestId, operation: route?.operation.id, err: thrown, name },
      'A request met an error that nobody foresaw.',
    )
  }
  return failedAnswer(route?.operation, thrown)
}
