import type { z } from 'zod'
import type { Probe } from '#engines/upstreams/upstream.ts'
import type { UpstreamPool } from '#engines/upstreams/upstream-pool.ts'
import type { Model } from '../models/model.ts'
import type { EngineOf } from './engine-kind.ts'

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
