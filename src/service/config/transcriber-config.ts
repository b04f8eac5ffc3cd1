import { z } from 'zod'
import { openAiOptions } from './engines/openai.ts'

/** What hears the sound of a video. */
export const TranscriberConfig = z.discriminatedUnion('engine', [
  z.strictObject({
    engine: z.literal('openai'),
    baseUrl: openAiOptions.baseUrl,
    apiKey: openAiOptions.apiKey,
    /** What that server calls it. */
    model: z.string().min(1).max(1_000),
    timeouts: openAiOptions.timeouts,
  }),
  z.strictObject({ engine: z.literal('local') }),
  z.strictObject({ engine: z.literal('demo') }),
])
export type TranscriberConfig = z.output<typeof TranscriberConfig>
