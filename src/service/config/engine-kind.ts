import { createHash } from 'node:crypto'
import type { z } from 'zod'
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
