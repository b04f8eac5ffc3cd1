import { type Clock, systemClock } from '#contract/time.ts'
import { type Probe, type Trial, type Upstream, UpstreamCounts } from '#engines/upstreams/upstream.ts'
import { UpstreamPool } from '#engines/upstreams/upstream-pool.ts'
import { once } from '#host/async.ts'
import type { Log } from '#host/log.ts'
import { brokenPromise } from '../models/check-model.ts'
import type { Model } from '../models/model.ts'
import type { EngineSurroundings } from './define-kind.ts'
import { engineKinds, type ModelConfig, modelKinds, type UpstreamConfig } from './model-config.ts'

export interface Surroundings {
  /** A folder for the engines' files. */
  folder: string
  log: Log
  clock?: Clock
  keep: EngineSurroundings['keep']
  /** Called when a model no longer uses what it kept under this name; optional. */
  drop?: (name: string) => Promise<void>
}

type AnyEngine = Model['engine']

/** An upstream of a model, and how to close what only the model uses. */
interface OpenedUpstream {
  upstream: Upstream<AnyEngine>
  close(): Promise<void>
}

/**
 * Creates the model of a configuration, with one engine over its upstreams. Makes no requests. Throws a sentence for an
 * invalid configuration.
 */
export function openModel(config: ModelConfig, around: Surroundings): Model {
  const kind = modelKinds.find(({ type }) => type === config.type)
  if (!kind) throw new Error(`There is no type ${config.type}.`)
  const opened: OpenedUpstream[] = []
  const close = once(async () => void (await Promise.all(opened.map(each => each.close()))))
  try {
    for (const [index, upstream] of config.upstreams.entries()) {
      opened.push(openUpstream(config, upstream, index, around))
    }
    const upstreams = opened.map(({ upstream }) => upstream)
    const model = modelOver(config, kind, upstreams, around)
    for (const { name, engine } of upstreams) requireKept(model, name, engine)
    return { ...model, close }
  } catch (error) {
    close().catch(() => undefined)
    throw error
  }
}

/** A model may offer only what each of its upstreams supports, because a call may go to any of them. */
function requireKept(model: Model, upstream: string, engine: AnyEngine): void {
  const broken = brokenPromise(model, engine)
  if (broken === null) return
  throw new Error(
    `${model.id} offers ${broken}, which its upstream ${upstream} does not support. Remove it from the model, or use an upstream that does.`,
  )
}

function modelOver(
  config: ModelConfig,
  kind: (typeof modelKinds)[number],
  upstreams: readonly Upstream<AnyEngine>[],
  around: Surroundings,
): Model {
  if (new Set(upstreams.map(({ name }) => name)).size < upstreams.length) {
    throw new Error(`Two upstreams of ${config.id} share a name.`)
  }
  const { id, log } = { id: config.id, log: around.log }
  const pool = new UpstreamPool<AnyEngine>({
    upstreams,
    queue: config.queue,
    clock: around.clock ?? systemClock,
    ...(kind.probe ? { probe: kind.probe as Probe<AnyEngine> } : {}),
    ...trialOf(kind, config),
    news: {
      leftOut: (upstream, reason) =>
        log.warn({ model: id, upstream, reason }, 'An upstream is out of service for a while.'),
      back: upstream => log.info({ model: id, upstream }, 'An upstream is back in service.'),
    },
  })
  return {
    ...commonOf(config),
    ...kind.members(ownMembersOf(kind, config)),
    engineName: [...new Set(config.upstreams.map(({ engine }) => engine))].join(','),
    engineModel: upstreams[0]?.engineModel ?? id,
    upstreams: {
      ...{ states: () => pool.states, waiting: () => pool.waiting, queue: config.queue },
      ...(kind.probe || kind.trial ? { tryOne: (name: string) => pool.tryOne(name) } : {}),
    },
    engine: kind.pooled(pool as UpstreamPool<never>),
  } as unknown as Model
}

function trialOf({ trial }: (typeof modelKinds)[number], config: ModelConfig): { trial?: Trial<AnyEngine> } {
  return trial ? { trial: (engine, call) => trial(engine as never, config as never, call) } : {}
}

function openUpstream(
  { id, type }: ModelConfig,
  upstream: UpstreamConfig,
  index: number,
  { folder, log, keep, drop }: Surroundings,
): OpenedUpstream {
  const { engine, name = `${engine}-${index + 1}`, model = id, weight, concurrency, firstByteMs, idleMs } = upstream
  const kind = engineKinds.find(each => each.name === engine)
  const open = kind?.engines[type]
  if (!open) throw new Error(`The engine ${engine} has no models of type ${type}.`)
  for (const [option, types = []] of Object.entries(kind.onlyFor ?? {})) {
    if (!(option in upstream) || types.includes(type)) continue
    throw new Error(`${option} does not apply to a model of type ${type}, only to ${types.join(', ')}. Leave it out.`)
  }
  const kept: string[] = []
  const keepHere: EngineSurroundings['keep'] = (key, make) => {
    const engine = keep(key, make)
    kept.push(key)
    return engine
  }
  const made = open(upstream as never, { folder, log, keep: keepHere, model: id, upstream: name })
  const atOnce = Math.min(concurrency, kind?.concurrency?.(upstream as never) ?? concurrency)
  return {
    upstream: {
      ...{ name, engine: made, engineModel: model, weight, concurrency: atOnce },
      // Metrics continue, even if the model is removed and returns later, because its counts are never dropped.
      counts: keep(`counts of ${name} for ${id}`, () => new UpstreamCounts()),
      ...(firstByteMs ? { firstByteMs } : {}),
      ...(idleMs ? { idleMs } : {}),
    },
    // A kept engine may be shared with another model, so the last model that drops it closes it.
    async close() {
      if (kept.length) await Promise.all(kept.map(key => drop?.(key)))
      else await (made as { close?(): Promise<void> }).close?.()
    },
  }
}

function commonOf({
  type,
  id,
  name,
  description,
  created,
  traits,
  compatibleIds,
  privacy,
  deprecation,
  enabled,
}: ModelConfig) {
  return {
    ...{ type, id, name: name ?? id, description, traits, compatibleIds, privacy },
    createdAt: created === undefined ? 0 : Date.parse(created) / 1000,
    ...(deprecation ? { deprecation: deprecationOf(deprecation) } : {}),
    ...(enabled ? {} : { isOff: true }),
  }
}

/** Picks the options that belong to the model's type, so that no other option becomes a member of it. */
const ownMembersOf = ({ shape }: (typeof modelKinds)[number], config: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(config).filter(([name]) => Object.hasOwn(shape, name)))

function deprecationOf({ startsAt, removesAt, replacement }: NonNullable<ModelConfig['deprecation']>) {
  return {
    autoRemap: replacement !== undefined,
    date: removesAt,
    removesAt,
    ...(replacement === undefined ? {} : { replacementModelId: replacement }),
    ...(startsAt === undefined ? {} : { startsAt }),
  }
}
