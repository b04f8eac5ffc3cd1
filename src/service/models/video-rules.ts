import type { UpscaleFactor, VideoMediaField } from '#contract/operations/video.ts'
import type { VideoModel } from './model.ts'

type Constrained = Pick<VideoModel, 'constraints'>

/** A model whose result is a given video, larger: its record lists the factors. */
export const isUpscaler = ({ constraints }: Constrained): boolean => constraints.upscale_factors !== undefined

/** Doubling is what an upscaler does unless told otherwise (brief §2.6). */
export function upscaleFactor({ constraints }: Constrained, asked: UpscaleFactor | undefined): UpscaleFactor | null {
  const { upscale_factors: factors } = constraints
  if (!factors) return null
  return asked ?? (factors.includes(2) ? 2 : (factors[0] ?? null))
}

/** The media that a model takes, as its record says or leaves to be understood. */
export function takenMedia({ constraints }: Constrained): readonly VideoMediaField[] {
  if (constraints.media) return constraints.media
  if (constraints.upscale_factors) return ['video_url']
  return constraints.model_type === 'text-to-video' ? [] : ['image_url']
}
