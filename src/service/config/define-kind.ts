import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { Probe, TriedMedia } from '#engines/upstreams/upstream.ts'
import type { UpstreamPool } from '#engines/upstreams/upstream-pool.ts'
import type { Log } from '#host/log.ts'
import type { Model } from '../models/model.ts'

/** The engine of a model of this type. */
type EngineOf<Type extends Model['type']> = Extract<Model, { type: Type }>['engine']

/** What an engine may need in addition to its options. */
export interface EngineSurroundings {
  /** A folder for the engines' files. */
  folder: string
  log: Log
  /** For a log. */
  model: string
  upstream: string
  /** Returns the same engine for every model and after each reload, for an engine that must not run twice. */
  keep<Engine>(name: string, make: () => Engine): Engine
}

/** One way to run models: its options in the configuration, and how the engine of each type is created. */
export interface EngineKind<Shape extends z.ZodRawShape = z.ZodRawShape> {
  /** The word after `engine:`. */
  name: string
  options: Shape
  /** Options that apply only to models of these types, and are refused for others. */
  onlyFor?: { [Option in keyof Shape]?: readonly Model['type'][] }
  /** Maximum concurrent calls, if that does not depend on a server. */
  concurrency?: (options: z.output<z.ZodObject<Shape>>) => number
  /** Throws a sentence for invalid options. */
  engines: {
    [Type in Model['type']]?: (options: z.output<z.ZodObject<Shape>>, around: EngineSurroundings) => EngineOf<Type>
  }
}

export const defineEngineKind = <Shape extends z.ZodRawShape>(kind: EngineKind<Shape>): EngineKind =>
  kind as unknown as EngineKind

/** Keeps an upstream's engine across a reload until one of these options changes; they are plain JSON. */
export function keptByOptions<Engine>(
  kind: string,
  options: object,
  { keep, model, upstream }: EngineSurroundings,
  make: () => Engine,
): Engine {
  // As a digest, because a server's key must not be part of a name, and a workflow may have megabytes.
  const digest = createHash('sha256')
    .update(JSON.stringify([options, model, upstream]))
    .digest('hex')
  return keep(`${kind} ${digest}`, make)
}

interface Closing {
  close?(): Promise<void>
}

/** Engines by name, each kept as long as a model uses it: an unchanged one survives a reload. */
export class KeptEngines {
  readonly #kept = new Map<string, { engine: unknown; uses: number }>()

  /** Returns the engine of this name, created if there is none. Each call counts as one use. */
  keep<Engine>(name: string, make: () => Engine): Engine {
    const kept = this.#kept.get(name) ?? { engine: make(), uses: 0 }
    kept.uses++
    this.#kept.set(name, kept)
    return kept.engine as Engine
  }

  /** Ends one use; the last one closes the engine. */
  async drop(name: string): Promise<void> {
    const kept = this.#kept.get(name)
    if (!kept || --kept.uses > 0) return
    this.#kept.delete(name)
    await (kept.engine as Closing).close?.()
  }

  /** Closes all remaining engines. Throws the first error after closing all. */
  async close(): Promise<void> {
    const left = [...this.#kept.values()]
    this.#kept.clear()
    const ends = await Promise.allSettled(left.map(async ({ engine }) => (engine as Closing).close?.()))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }
}

/** Members of a model that are specific to its type. */
type OwnMembers<Type extends Model['type']> = Omit<
  Extract<Model, { type: Type }>,
  | 'id'
  | 'type'
  | 'name'
  | 'description'
  | 'createdAt'
  | 'traits'
  | 'compatibleIds'
  | 'engineName'
  | 'engineModel'
  | 'privacy'
  | 'deprecation'
  | 'upstreams'
  | 'engine'
>

/** One type of model in the configuration. */
export interface ModelKind<Type extends Model['type'] = Model['type'], Shape extends z.ZodRawShape = z.ZodRawShape> {
  type: Type
  /** Options of this type of model, in addition to the common ones. */
  shape: Shape
  members(config: z.output<z.ZodObject<Shape>>): OwnMembers<Type>
  /** A small call of our own that tests whether such an engine works; absent if every call is expensive. */
  probe?: Probe<EngineOf<Type>>
  /** A call that an owner sends to see what such an engine makes, where a probe would be too expensive. */
  trial?(
    engine: EngineOf<Type>,
    config: z.output<z.ZodObject<Shape>>,
    call: { engineModel: string; signal: AbortSignal },
  ): Promise<TriedMedia>
  /** Combines several upstreams into one engine. */
  pooled(pool: UpstreamPool<EngineOf<Type>>): EngineOf<Type>
}

export const defineModelKind = <Type extends Model['type'], Shape extends z.ZodRawShape>(
  kind: ModelKind<Type, Shape>,
): ModelKind => kind as unknown as ModelKind
