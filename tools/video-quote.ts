import { z } from 'zod'
import { fromUsdNumber, toUsdNumber } from '#contract/money.ts'
import { quoteVideo } from '#contract/operations/video.ts'
import { defineTool } from '#toolkit/define.ts'
import { lengthAndPrompt, videoChoices } from '#toolkit/input/video-request.ts'
import { Usd } from '#toolkit/output/paid.ts'
import { sayUsd } from '#toolkit/values/amounts.ts'
import { untrustedId } from '#toolkit/values/untrusted.ts'

export default defineTool({
  name: 'video_quote',
  set: 'video',
  title: 'Price of a video',
  description: 'What video_create would charge for the same choices. Needs a wallet or key. Free.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    ...videoChoices,
    reference_video_seconds: z.number().min(0).optional().describe('All reference videos together.'),
  }),
  modelType: 'video',
  sentAs: { video_url: 'video', reference_video_total_duration: 'reference_video_seconds' },
  output: z.object({ model: z.string(), price_usd: Usd }),

  async run(context, { video, reference_video_seconds, ...choices }) {
    const video_url = video === undefined ? undefined : await context.files.asMediaUrl(video, 'video')
    const { duration } = await lengthAndPrompt(context, { ...choices, video }, ['duration'])
    const body = { ...choices, duration, video_url, reference_video_total_duration: reference_video_seconds }
    const { answer } = await context.call(quoteVideo, { params: undefined, query: undefined, body })
    const price = fromUsdNumber(answer.quote)
    return { model: untrustedId(choices.model), price_usd: price === null ? null : toUsdNumber(price) }
  },

  say: ({ model, price_usd }) =>
    `A video of ${model} with these choices costs ${sayUsd(price_usd)}. Nothing was charged.`,
})
