import { ServiceError } from '#contract/errors/service-error.ts'
import { fromUsdNumber } from '#contract/money.ts'
import { quoteVideo, VideoQueueRequest } from '#contract/operations/video.ts'
import { wantsCredit } from '../words/wants-credit.ts'
import { shownModel } from './asked-models.ts'
import { hasOtherMembers } from './chat-extras.ts'
import type { Pricer } from './priced-call.ts'

export const priceVideo: Pricer = async ({ client }, call) => {
  const asked = call as VideoQueueRequest
  const what = `A video of ${asked.duration} by ${shownModel(asked.model)}`
  if (costsMoreThanQuoted(asked)) return { what, amountMicroUsd: null }
  const { model, duration, aspect_ratio, resolution, upscale_factor, audio, video_url } = asked
  const body = { model, duration, aspect_ratio, resolution, upscale_factor, audio, video_url }
  const quoting = client.call(quoteVideo, { params: undefined, query: undefined, body })
  const quoted = await quoting.catch((error: unknown) => {
    // A video is fetched for nobody without credit; the call itself says what is missing.
    if (error instanceof ServiceError && wantsCredit(error)) return null
    throw error
  })
  const quote = quoted && fromUsdNumber(quoted.answer.quote)
  return { what, amountMicroUsd: quote !== null && quote >= 0n ? quote : null }
}

/** A quote wants the length of the reference videos, which nobody here knows, and takes no other members. */
const costsMoreThanQuoted = (body: VideoQueueRequest): boolean =>
  hasOtherMembers(body, VideoQueueRequest.shape) ||
  Boolean(body.reference_video_urls?.length) ||
  Boolean(body.elements?.some(element => hasOtherMembers(element, pictureMembers)))

/** Members of an element that are pictures; any other is a video, or unknown. */
const pictureMembers = { frontal_image_url: true, reference_image_urls: true }
