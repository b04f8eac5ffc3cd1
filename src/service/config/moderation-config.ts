import { z } from 'zod'
import { adultThreshold } from '#engines/moderation/moderators.ts'
import { openAiOptions } from './engines/openai.ts'

/** What looks at images before they are sold. */
export const ModerationConfig = z.discriminatedUnion('engine', [
  z.strictObject({
    engine: z.literal('nsfwjs'),
    /** How certain the model must be, from 0 to 1. */
    threshold: z.number().gt(0).lt(1).default(adultThreshold),
  }),
  z.strictObject({
    engine: z.literal('openai'),
    baseUrl: openAiOptions.baseUrl,
    apiKey: openAiOptions.apiKey,
    /** What that server calls it. */
    model: z.string().min(1).max(1_000).default('omni-moderation-latest'),
    timeouts: openAiOptions.timeouts,
  }),
])
export type ModerationConfig = z.output<typeof ModerationConfig>
