import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { Probe } from '#engines/upstreams/upstream.ts'
import type { UpstreamPool } from '#engines/upstreams/upstream-pool.ts'
import type { Log } from '#host/log.ts'
import type { Model } from '../models/model.ts'

/** What a model of this type runs on. */
export type EngineOf<Type extends Model['type']> = Extract<Model, { type: Type }>['engine']

/** What an engine may want beyond its options. */
export interface EngineSurroundings {
  /** Where engines may keep files. */
  folder: string
  log: Log
  /** For a log. */
  model: string
  upstream: string
  /** The same one for every model and after each reload, for an engine that must not run twice. */
  keep<Engine>(name: string, make: () => Engine): Engine
}

/** One way to run models: what an upstream of it is told in the configuration, and how each type's engine is made. */
export interface EngineKind<Shape extends z.ZodRawShape = z.ZodRawShape> {
  /** The word after `engine:`. */
  name: string
  options: Shape
  /** Options that mean nothing but for models of these types, and are refused for others. */
  onlyFor?: { [Option in keyof Shape]?: readonly Model['type'][] }
  /** Calls at once that it can take, where that does not depend on a server. */
  concurrency?: (options: z.output<z.ZodObject<Shape>>) => number
  /** Throws a sentence where the options cannot be meant. */
  engines: {
    [Type in Model['type']]?: (options: z.output<z.ZodObject<Shape>>, around: EngineSurroundings) => EngineOf<Type>
  }
}

export const defineEngineKind = <Shape extends z.ZodRawShape>(kind: EngineKind<Shape>): EngineKind =>
  kind as unknown as EngineKind

/** The same engine for the same upstream over a reload, until one of these options changes; they are plain JSON. */
export function keptByOptions<Engine>(
  kind: string,
  options: object,
  { keep, model, upstream }: EngineSurroundings,
  make: () => Engine,
): Engine {
  // As a digest: a server's key belongs in no name, and a workflow may have megabytes.
  const digest = createHash('sha256')
    .update(JSON.stringify([options, model, upstream]))
    .digest('hex')
  return keep(`${kind} ${digest}`, make)
}

interface Closing {
  close?(): Promise<void>
}

/** Engines by their names, each for as long as a model uses it: an unchanged one goes on over a reload. */
export class KeptEngines {
  readonly #kept = new Map<string, { engine: unknown; uses: number }>()

  /** The one of this name, made where there is none. Each call is a use of it. */
  keep<Engine>(name: string, make: () => Engine): Engine {
    const kept = this.#kept.get(name) ?? { engine: make(), uses: 0 }
    kept.uses++
    this.#kept.set(name, kept)
    return kept.engine as Engine
  }

  /** One use of it is over; it is ended with the last. */
  async drop(name: string): Promise<void> {
    const kept = this.#kept.get(name)
    if (!kept || --kept.uses > 0) return
    this.#kept.delete(name)
    await (kept.engine as Closing).close?.()
  }

  /** Ends all that is left. Throws the first error, after every end. */
  async close(): Promise<void> {
    const left = [...this.#kept.values()]
    this.#kept.clear()
    const ends = await Promise.allSettled(left.map(async ({ engine }) => (engine as Closing).close?.()))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }
}

/** Members of a model that belong to its type, without those that each has. */
export type OwnMembers<Type extends Model['type']> = Omit<
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
  /** What such a model is told beyond what each is. */
  shape: Shape
  members(config: z.output<z.ZodObject<Shape>>): OwnMembers<Type>
  /** A small call of our own that tells whether such an engine works; absent where every call is dear. */
  probe?: Probe<EngineOf<Type>>
  /** One engine over several upstreams. */
  pooled(pool: UpstreamPool<EngineOf<Type>>): EngineOf<Type>
}

export const defineModelKind = <Type extends Model['type'], Shape extends z.ZodRawShape>(
  kind: ModelKind<Type, Shape>,
): ModelKind => kind as unknown as ModelKind
