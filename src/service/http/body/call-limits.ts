import type { Grant } from '#access/limits/guards.ts'
import type { CountedFor } from '#contract/limits.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { parseModelSuffix } from '#contract/operations/service-parameters.ts'
import { limitRequests, modelId, modelName, modelRouter } from '#contract/wire/headers.ts'
import { ChargeUnknown } from '#ledger/charges/charge-unknown.ts'
import { tellDeprecation } from '../../models/deprecation.ts'
import { editModelName } from '../../models/image-model-of.ts'
import type { Model } from '../../models/model.ts'
import type { Exchange } from '../exchange.ts'
import type { Service } from '../service.ts'
import { demandOf } from './demand.ts'

/** Counts a call towards its limits, and tells its model and how its limits stand. Throws `rateLimitExceeded`, `modelNotFound`. */
export async function takeLimits(
  { operation, body, countedFor }: { operation: Operation; body: unknown; countedFor: CountedFor | undefined },
  exchange: Exchange,
  service: Service,
): Promise<Grant> {
  const demand = demandOf(operation, body, service)
  if (demand.model) {
    exchange.set(modelId, demand.model.id)
    exchange.set(modelName, demand.model.name)
    exchange.set(modelRouter, demand.model.engineName)
    tellDeprecationOf(demand.model.type, body, exchange, service)
  }
  const grant = await service.guards.take(exchange, countedFor ? { ...demand, countedFor } : demand)
  exchange.setAll(grant.headers)
  return grant
}

/** Runs a call that was counted. One that is refused gets its tokens back, and its answer says so. */
export async function withinLimits<Value>(
  grant: Grant | null,
  { exchange, signal }: { exchange: Exchange; signal: AbortSignal },
  run: () => Promise<Value>,
): Promise<Value> {
  try {
    return await run()
  } catch (error) {
    // The engine's tokens of a caller who left, or of a charge in doubt, were made.
    if (grant && !signal.aborted && !(error instanceof ChargeUnknown)) exchange.setAll(grant.giveBack())
    throw error
  }
}

/**
 * Brief §8.4 on an answer of a request that nothing counted: limits are read. One that was counted told them then. A text
 * request whose model is unread has none yet: limits of another tier would slow the caller down for a minute.
 */
export async function tellLimits(exchange: Exchange, { guards }: Pick<Service, 'guards'>): Promise<void> {
  const { principal, demand, signal } = exchange
  if (!demand || signal.aborted || exchange.answerHeaders.has(limitRequests.name)) return
  if (!principal && demand.operation.charge !== 'payment') return
  if (demand.isUnread && demand.operation.limit === 'text') return
  exchange.setAll(await guards.limitsOf(exchange, demand))
}

/** Whoever asked for a deprecated model is told so, also where another one answers for it by now. */
function tellDeprecationOf(type: Model['type'], body: unknown, exchange: Exchange, service: Service): void {
  const name = askedModelName(type, body as { model?: unknown })
  const asked = name === null ? null : service.catalogue.asked(type, name)
  if (asked) tellDeprecation((codec, value) => exchange.set(codec, value), asked, service.clock.now())
}

function askedModelName(type: Model['type'], body: { model?: unknown; modelId?: string }): string | null {
  const { model } = body
  if (typeof model !== 'string') return null
  return type === 'inpaint' ? editModelName({ ...body, model }) : parseModelSuffix(model).model
}
