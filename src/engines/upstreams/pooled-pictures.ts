import type { BackgroundEngine, EditEngine, UpscaleEngine } from '../ports/image-engines.ts'
import { carriedByAll } from './pooled-engines.ts'
import type { UpstreamPool } from './upstream-pool.ts'

/** The ports of models that begin with a picture, over several upstreams. */

export const pooledEdits = (pool: UpstreamPool<EditEngine>): EditEngine => ({
  carries: carriedByAll(pool),
  edit: call => pool.answer(call, (engine, asked) => engine.edit(asked)),
})

export const pooledUpscales = (pool: UpstreamPool<UpscaleEngine>): UpscaleEngine => ({
  carries: carriedByAll(pool),
  upscale: call => pool.answer(call, (engine, asked) => engine.upscale(asked)),
})

export const pooledBackgrounds = (pool: UpstreamPool<BackgroundEngine>): BackgroundEngine => ({
  removeBackground: call => pool.answer(call, (engine, asked) => engine.removeBackground(asked)),
})
