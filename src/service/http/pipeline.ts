import type { Context, Hono } from 'hono'
import type { Grant } from '#access/limits/guards.ts'
import { discovery } from '#access/payment-required.ts'
import { adminKeyRequired, authenticationFailed } from '#contract/errors/errors.ts'
import type { CountedFor } from '#contract/limits.ts'
import { zeroUsd } from '#contract/money.ts'
import { isPaid, type Operation } from '#contract/operations/operation.ts'
import { basePath } from '#contract/wire/base-url.ts'
import { balanceDiem, balanceUsd } from '#contract/wire/headers.ts'
import {
  failedStatus,
  idsOf,
  inRequest,
  inSpan,
  type RequestContext,
  requestSpan,
  type Span,
  traceOf,
} from '#host/tracing/tracing.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import { admissionFloor, spendableForMs } from '#ledger/bounds.ts'
import { ChargeUnknown, InsufficientCredit, type Spendable } from '#ledger/charges/funding.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { type BodySource, parseRequest, readBody, wholeBody } from './body/read-body.ts'
import { send } from './body/send.ts'
import { readDemand, takeLimits, tellLimits } from './call-limits.ts'
import { Exchange, endedRequest, requireSingleHeaders, setCommonHeaders } from './exchange.ts'
import { fail, tellRetries } from './failed-answer.ts'
import { keyOf, oncePerKey } from './idempotency/once-per-key.ts'
import type { KeyedRequest } from './idempotency/replayed-answer.ts'
import type { SocketBindings } from './listener.ts'
import { type Call, type Reply, type Route, UnkeyedWork, type Work } from './route.ts'
import { answerWithReceipt } from './sell.ts'
import type { Service } from './service.ts'

interface Incoming {
  exchange: Exchange
  params: Record<string, string>
  query: Readonly<Record<string, string | readonly string[] | undefined>>
  body: BodySource
}

/**
 * The order of every request: guard by address, identify, guard by principal, body, validation, replay for its key,
 * rate limit, route. Every error becomes a response here.
 */
function answer(route: Route, incoming: Incoming, service: Service): Promise<Response> {
  const { exchange } = incoming
  return reported(route.operation.id, exchange, service, async () => {
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

/** Runs a request's handler with its context, and reports the request once its last byte has left. */
export function reported(
  operation: string,
  exchange: Exchange,
  service: Pick<Service, 'requestEnded' | 'inFlight'>,
  run: () => Promise<Response>,
): Promise<Response> {
  const { requestId } = exchange
  const trace = traceOf(name => exchange.header(name))
  const span = requestSpan(operation, trace, { 'farebox.request_id': requestId })
  const context: RequestContext = { requestId, trace, account: null, retries: 0 }
  if (span) context.traceId = idsOf(span).traceId
  exchange.context = context
  exchange.onEnd(service.inFlight.begin())
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
  const keyed = { operation: route.operation, exchange, request, requireNewWork, service }
  const run = async (work: Work) => {
    const take = (countedFor?: CountedFor) =>
      takeLimits({ operation: route.operation, body: request.body, countedFor }, exchange, service)
    // A top-up counts itself, because only its code can recognize a payment that was accepted before.
    const grant = route.operation.charge === 'payment' ? null : await take()
    const fetcher = service.fetcherFor(room)
    const call = callOf({ exchange, request, spendable, fetcher, grant, take, work })
    const reply = await withinLimits(grant, { exchange, signal: work.signal }, () => route.answer(call, service))
    tellRetries(exchange)
    await tellLimits(exchange, service)
    if (reply.kind === 'json' || reply.kind === 'bytes')
      await answerWithReceipt({ operation: route.operation, exchange, service }, work.requestId)
    return reply
  }
  const key = keyOf(route.operation, exchange)
  return key === null ? answerUnkeyed(keyed, run) : oncePerKey(key, keyed, run)
}

async function answerUnkeyed(
  { exchange, requireNewWork, service }: KeyedRequest,
  run: (work: Work) => Promise<Reply>,
): Promise<Response> {
  requireNewWork()
  const work = new UnkeyedWork(exchange, service.unread)
  try {
    const reply = await run(work)
    // A paid stream reports itself when its work has ended.
    if (reply.kind !== 'events' && reply.kind !== 'pieces') work.over()
    return send(exchange, reply, service.settings.vendor)
  } catch (error) {
    work.over()
    throw error
  }
}

/** A paid answer is replayed regardless of the credit; otherwise a caller without credit may not send a body. */
async function requireCreditOrKnownKey(
  requireCredit: () => void,
  operation: Operation,
  exchange: Exchange,
  service: Service,
): Promise<void> {
  try {
    requireCredit()
  } catch (error) {
    const key = keyOf(operation, exchange)
    if (key === null || !(await service.claims.find(key.claim))) throw error
  }
}

interface Admission {
  /** Throws `InsufficientCredit` if a new call would. */
  requireCredit(): void
  spendable: Call['spendable']
}

/**
 * Identifies the caller and checks for blocks: a block by address applies only to those who do not identify themselves.
 */
async function admit(route: Route, exchange: Exchange, service: Service): Promise<Admission> {
  const { operation } = route
  exchange.principal = await identified(operation, exchange, service)
  service.guards.admit(exchange)
  const { principal } = exchange
  if (exchange.context) exchange.context.account = principal?.account ?? null
  if (!operation.auth.length) {
    // A public operation also answers while the ledger is unreachable, but without balances.
    if (principal) await tellBalance(principal, exchange, service).catch(() => undefined)
    return anybody
  }
  if (!principal) {
    if (!operation.auth.includes('wallet')) throw authenticationFailed()
    throw discovery(service.settings, operation, service.identity.challenge())
  }
  const { clock, funding } = service
  const readAtMs = clock.now()
  const read = await tellBalance(principal, exchange, service)
  if (operation.adminKey && !(principal.kind === 'key' && principal.role === 'ADMIN')) throw adminKeyRequired()
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

/** A wrong credential from a blocked address gets the block's answer, because it proves no identity. */
async function identified(operation: Operation, exchange: Exchange, service: Service) {
  const admitUnknown = () => service.guards.admit(exchange)
  try {
    return await service.identity.identify(operation, name => exchange.header(name), admitUnknown)
  } catch (error) {
    admitUnknown()
    throw error
  }
}

interface CallParts {
  exchange: Exchange
  request: object
  spendable: Call['spendable']
  fetcher: Call['fetcher']
  grant: Grant | null
  take: (countedFor?: CountedFor) => Promise<Grant>
  work: Work
}

const callOf = ({ exchange, request, spendable, fetcher, grant, take, work }: CallParts): Call =>
  ({
    ...request,
    requestId: work.requestId,
    holdId: work.holdId,
    signal: work.signal,
    goOn: () => work.goOn(),
    stay: () => work.stay(),
    unread: () => work.unread(),
    hasLeft: () => work.hasLeft(),
    hasKey: work.hasKey,
    keep: reply => work.keep(reply),
    keepStream: lastEvents => work.keepStream(lastEvents),
    principal: exchange.principal,
    spendable,
    fetcher,
    address: exchange.address,
    header: name => exchange.header(name),
    set: (codec, value) => exchange.set(codec, value),
    tokensUsed: tokens => grant?.correct(tokens),
    count: async countedFor => void (await take(countedFor)),
  }) as Call

/** Has Node's own messages when it runs on a socket, and none when a client calls it in process. */
export interface ServiceEnvironment {
  Bindings: Partial<SocketBindings>
}

export type AppContext = Context<ServiceEnvironment>

export function mount(app: Hono<ServiceEnvironment>, route: Route, service: Service): void {
  const { method, path, aliasPath } = route.operation
  const paths = [path, ...(aliasPath ? [aliasPath] : [])].map(honoPath)
  app.on(method, paths, context => answer(route, incomingOf(context, service), service))
}

const honoPath = (path: string): string => `${basePath}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`

function incomingOf(context: AppContext, service: Service): Incoming {
  const exchange = exchangeOf(context, service)
  const body: BodySource = {
    header: name => exchange.header(name),
    read: (limit, arrived) => wholeBody(context.env?.incoming ?? null, context.req.raw, limit, arrived),
  }
  return { exchange, params: context.req.param() as Record<string, string>, query: queryOf(context), body }
}

/** A repeated member has all of its values. */
function queryOf({ req }: AppContext): Incoming['query'] {
  if (!req.url.includes('?')) return {}
  return Object.fromEntries(
    Object.entries(req.queries()).map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  )
}

export function exchangeOf(context: AppContext, service: Service): Exchange {
  const incoming = context.env?.incoming
  // Node joins repeated headers or drops them silently, but a credential that is sent twice must be noticed.
  const header = incoming
    ? (name: string) => incoming.headersDistinct[name] ?? []
    : (name: string) => [context.req.raw.headers.get(name) ?? []].flat()
  const exchange = new Exchange({
    requestId: uuidV7(service.clock.now()),
    address: service.proxies.callerOf(incoming?.socket.remoteAddress ?? '127.0.0.1', header),
    signal: context.req.raw.signal,
    write: context.env?.write ?? null,
    cut: context.env?.cut ?? null,
    vendor: service.settings.vendor,
    requestHeaders: header,
  })
  // Some runtimes never cancel a body that is no longer read; leaving ends the request anyway.
  exchange.signal.addEventListener('abort', () => exchange.left(), { once: true })
  return exchange
}

/** Runs a call that was counted. If it is refused, it gets its tokens back, which its headers show. */
async function withinLimits<Value>(
  grant: Grant | null,
  { exchange, signal }: { exchange: Exchange; signal: AbortSignal },
  run: () => Promise<Value>,
): Promise<Value> {
  try {
    return await run()
  } catch (error) {
    // If the caller left, or the charge is in doubt, the engine's tokens were generated.
    if (grant && !signal.aborted && !(error instanceof ChargeUnknown)) exchange.setAll(grant.giveBack())
    throw error
  }
}
