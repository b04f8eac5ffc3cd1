import { type Clock, systemClock } from '#contract/clock.ts'
import { UpstreamCounts } from '../engines/upstreams/upstream-counts.ts'
import { type Upstream, UpstreamPool } from '../engines/upstreams/upstream-pool.ts'
import type { Log } from '../log.ts'
import type { Model } from '../models/model.ts'
import type { EngineSurroundings } from './engine-kind.ts'
import { engineKinds } from './engine-kinds.ts'
import type { ModelConfig, UpstreamConfig } from './model-config.ts'
import { modelKinds } from './model-kinds.ts'

export interface Surroundings {
  /** Where engines may keep files. */
  folder: string
  log: Log
  clock?: Clock
  keep: EngineSurroundings['keep']
}

type AnyEngine = Model['engine']

/** The model of a configuration, with one engine over its upstreams. Asks nothing of them. Throws a sentence that says what cannot be meant. */
export function openModel(config: ModelConfig, around: Surroundings): Model {
  const kind = modelKinds.find(({ type }) => type === config.type)
  if (!kind) throw new Error(`There is no type ${config.type}.`)
  const upstreams = config.upstreams.map((upstream, index) => openUpstream(config, upstream, index, around))
  if (new Set(upstreams.map(({ name }) => name)).size < upstreams.length) {
    throw new Error(`Two upstreams of ${config.id} share a name.`)
  }
  const { id, log } = { id: config.id, log: around.log }
  const pool = new UpstreamPool<AnyEngine>({
    upstreams,
    queue: config.queue,
    clock: around.clock ?? systemClock,
    news: {
      leftOut: (upstream, reason) => log.warn({ model: id, upstream, reason }, 'An upstream is left out for a while.'),
      back: upstream => log.info({ model: id, upstream }, 'An upstream is back.'),
    },
  })
  return {
    ...commonOf(config),
    ...kind.members(config),
    engineName: [...new Set(config.upstreams.map(({ engine }) => engine))].join(','),
    engineModel: upstreams[0]?.engineModel ?? id,
    upstreams: { states: () => pool.states, waiting: () => pool.waiting },
    engine: kind.pooled(pool as UpstreamPool<never>),
  } as unknown as Model
}

function openUpstream(
  { id, type }: ModelConfig,
  upstream: UpstreamConfig,
  index: number,
  { folder, log, keep }: Surroundings,
): Upstream<AnyEngine> {
  const { engine, name = `${engine}-${index + 1}`, model = id, weight, concurrency, firstByteMs, idleMs } = upstream
  const kind = engineKinds.find(each => each.name === engine)
  const open = kind?.engines[type]
  if (!open) throw new Error(`The engine ${engine} has no models of type ${type}.`)
  const made = open(upstream as never, { folder, log, keep, model: id, upstream: name })
  const atOnce = Math.min(concurrency, kind?.concurrency?.(upstream as never) ?? concurrency)
  return {
    name,
    engine: made,
    engineModel: model,
    weight,
    concurrency: atOnce,
    counts: keep(`counts of ${name} for ${id}`, () => new UpstreamCounts()),
    ...(firstByteMs ? { firstByteMs } : {}),
    ...(idleMs ? { idleMs } : {}),
  }
}

function commonOf({ type, id, name, description, created, traits, compatibleIds, privacy, deprecation }: ModelConfig) {
  return {
    ...{ type, id, name: name ?? id, description, traits, compatibleIds, privacy },
    createdAt: created === undefined ? 0 : Date.parse(created) / 1000,
    ...(deprecation ? { deprecation: deprecationOf(deprecation) } : {}),
  }
}

function deprecationOf({ startsAt, removesAt, replacement }: NonNullable<ModelConfig['deprecation']>) {
  return {
    autoRemap: replacement !== undefined,
    date: removesAt,
    removesAt,
    ...(replacement === undefined ? {} : { replacementModelId: replacement }),
    ...(startsAt === undefined ? {} : { startsAt }),
  }
}
