import { apiVersion } from '#contract/api-version.ts'
import { authenticationFailed, topUpFailed, unknownError } from '#contract/errors.ts'
import {
  balanceUsd,
  hostName,
  modelId,
  modelName,
  modelRouter,
  requestId,
  timestamp,
  version,
} from '#contract/headers.ts'
import { admissionFloorUsd } from '#contract/limits.ts'
import { microUsd } from '#contract/money.ts'
import type { Operation } from '#contract/operation.ts'
import { ServiceError } from '#contract/service-error.ts'
import type { Call } from './call.ts'
import type { Exchange } from './exchange.ts'
import { balanceOf } from './ledger/accounts.ts'
import { InsufficientCredit } from './ledger/charge.ts'
import { demandOf } from './middleware/demand.ts'
import { parseRequest } from './middleware/parse-request.ts'
import { type BodySource, readBody } from './middleware/read-body.ts'
import { send, sendJson } from './middleware/send.ts'
import { discovery, keyCreditRequired, walletCredit } from './payment-required.ts'
import type { Route } from './route.ts'
import type { Grant, Service } from './service.ts'

export interface Incoming {
  exchange: Exchange
  params: Record<string, string>
  query: Record<string, string>
  body: BodySource
}

/** `tooManyFailures`. */
const blockKind = 'FAILED_REQUESTS'

const admissionFloor = microUsd(Math.round(admissionFloorUsd * 1e6))

/**
 * The order of every request: guard by address, identify, guard by principal, body, validation, rate limit, route.
 * Whatever is thrown on the way becomes its answer here and nowhere else.
 */
export async function answer(route: Route, incoming: Incoming, service: Service): Promise<Response> {
  const { exchange } = incoming
  setCommonHeaders(exchange, service)
  try {
    return await succeed(route, incoming, service)
  } catch (error) {
    return fail(route, exchange, service, error)
  }
}

async function succeed(route: Route, incoming: Incoming, service: Service): Promise<Response> {
  const { exchange } = incoming
  await admit(route, exchange, service)
  exchange.onEnd(service.guards.enter(exchange))
  const body = await readBody(route.operation, incoming.body)
  const request = parseRequest(route.operation, { ...incoming, body })
  const take = () => takeLimits(route, exchange, request.body, service)
  // A top-up counts itself, because only it can tell a payment that has come before.
  const grant = route.operation.charge === 'payment' ? null : await take()
  const reply = await route.answer(callOf(exchange, request, grant, take), service)
  return send(exchange, reply, service.settings.vendor)
}

/** Who calls, and may they: a block by address answers only those who do not identify themselves. */
async function admit(route: Route, exchange: Exchange, service: Service): Promise<void> {
  const { operation } = route
  exchange.principal = await identified(operation, exchange, service)
  service.guards.admit(exchange)
  const { principal } = exchange
  if (!principal) {
    if (!operation.auth.length) return
    if (!operation.auth.includes('wallet')) throw authenticationFailed()
    throw discovery(service.settings, operation, service.identity.challenge())
  }
  const balance = await balanceOf(service.store, principal.account)
  exchange.set(balanceUsd, balance.availableMicroUsd)
  if (principal.kind !== 'wallet' || !isPaid(route) || balance.availableMicroUsd >= admissionFloor) return
  throw new InsufficientCredit(admissionFloor)
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

const isPaid = ({ operation }: Route): boolean => operation.charge === 'usage' || operation.charge === 'quote'

async function takeLimits(route: Route, exchange: Exchange, body: unknown, service: Service): Promise<Grant> {
  const demand = demandOf(route.operation, body, service)
  if (demand.model) {
    exchange.set(modelId, demand.model.id)
    exchange.set(modelName, demand.model.name)
    exchange.set(modelRouter, demand.model.engineName)
  }
  const grant = await service.guards.take(exchange, demand)
  exchange.setAll(grant.headers)
  return grant
}

const callOf = (exchange: Exchange, request: object, grant: Grant | null, take: () => Promise<Grant>): Call =>
  ({
    ...request,
    requestId: exchange.requestId,
    principal: exchange.principal,
    address: exchange.address,
    signal: exchange.signal,
    header: name => exchange.header(name),
    set: (codec, value) => exchange.set(codec, value),
    tokensUsed: tokens => grant?.correct(tokens),
    count: async () => void (await take()),
  }) as Call

export function setCommonHeaders(exchange: Exchange, service: Service): void {
  exchange.set(requestId, exchange.requestId)
  exchange.set(version, apiVersion)
  exchange.set(timestamp, service.clock.now())
  exchange.setAll({
    'cache-control': 'no-store',
    vary: 'Authorization, SIGN-IN-WITH-X, PAYMENT-SIGNATURE, Accept-Encoding',
    'x-content-type-options': 'nosniff',
  })
}

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
  if (error.kind !== blockKind && !exchange.signal.aborted) service.guards.failed(exchange)
  exchange.set(hostName, service.settings.hostName)
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
  if (thrown instanceof ServiceError) return thrown
  if (thrown instanceof InsufficientCredit && exchange.principal && route) {
    const challenge = service.identity.challenge()
    if (exchange.principal.kind === 'key') return keyCreditRequired(service.settings, route.operation, challenge)
    const { availableMicroUsd } = await balanceOf(service.store, exchange.principal.account)
    const credit = { availableMicroUsd, neededMicroUsd: thrown.neededMicroUsd }
    return walletCredit(service.settings, route.operation, challenge, credit)
  }
  return unforeseen(route, exchange, service, thrown)
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
  if (route?.operation.charge !== 'payment') return unknownError()
  return topUpFailed({
    error: 'X402_TOP_UP_FAILED',
    message:
      'The top-up could not be processed; nothing is known to be wrong with the payment. Send the same payment again.',
  })
}
