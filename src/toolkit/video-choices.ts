import { z } from 'zod'
import { zeroUsd } from '#contract/money.ts'
import { modelsNamed } from '#contract/operations/models.ts'
import {
  noPrompt,
  UpscaleFactor,
  VideoAspectRatio,
  VideoDuration,
  VideoResolution,
} from '#contract/operations/video.ts'
import { choiceNames } from './bounds.ts'
import { strangeId, strangeName } from './from-outside.ts'
import type { ToolContext } from './tool-context.ts'
import { ToolFailure } from './tool-failure.ts'

/**
 * What a video's price depends on. The listing shows plain strings, because a model's own record says which of the many
 * values it takes; a call is checked against all of them.
 */
export const videoChoices = {
  model: z.string().min(1).describe('Id from models_find.'),
  duration: z.string().pipe(VideoDuration).optional().describe('Such as 5s; not for upscalers.'),
  aspect_ratio: z.string().pipe(VideoAspectRatio).optional().describe('Such as 16:9.'),
  resolution: z.string().pipe(VideoResolution).optional().describe('Such as 720p.'),
  upscale_factor: z.number().pipe(UpscaleFactor).optional().describe('1, 2 or 4: for upscalers, with video.'),
  audio: z.boolean().optional(),
  video: z.string().min(1).optional().describe('Path or URL of a source video.'),
}

interface Given {
  model: string
  duration?: VideoDuration | undefined
  prompt?: string | undefined
  video?: string | undefined
}

/**
 * The duration and the prompt as the contract wants them of every request. An upscaler has neither, which its record tells by
 * an empty list of durations, or where there is no record the video that is given. Throws `ToolFailure` where any other model
 * misses one that is `needed`.
 */
export async function lengthAndPrompt(
  context: Pick<ToolContext, 'models'>,
  { model, duration, prompt, video }: Given,
  needed: readonly ('duration' | 'prompt')[],
): Promise<{ duration: VideoDuration; prompt: string }> {
  const missing = needed.filter(name => ({ duration, prompt })[name] === undefined)
  if (missing.length > 0) {
    const records = await context.models().catch(() => [])
    const constraints = modelsNamed(records, 'video', model)[0]?.model_spec.constraints
    const durations = constraints && 'durations' in constraints ? constraints.durations : undefined
    const isUpscaler = durations ? durations.length === 0 : video !== undefined
    if (!isUpscaler) throw misses(model, missing, durations)
  }
  return { duration: duration ?? 'Auto', prompt: prompt ?? noPrompt }
}

function misses(model: string, missing: readonly string[], durations: readonly string[] = []): ToolFailure {
  const taken =
    durations.length > 0
      ? ` It takes duration ${durations
          .slice(0, choiceNames)
          .map(each => strangeName(each))
          .join(', ')}.`
      : ''
  const names = missing.map(name => `\`${name}\``).join(' and ')
  return new ToolFailure({
    happened: `A video of ${strangeId(model)} needs ${names}; only an upscaler does without.`,
    charged: zeroUsd,
    next: `Call again with ${names}.${missing.includes('duration') ? taken : ''}`,
  })
}
