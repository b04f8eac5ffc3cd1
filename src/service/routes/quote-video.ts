import { toUsdNumber } from '#contract/money.ts'
import { noPrompt, quoteVideo } from '#contract/video.ts'
import { json } from '../call.ts'
import { admissionFloor } from '../ledger/admission-floor.ts'
import { checkVideoPrice } from '../models/check-video.ts'
import { isUpscaler } from '../models/video-rules.ts'
import { quoteVideo as priceOf } from '../pricing/price-video.ts'
import { route } from '../route.ts'
import { requireFunds } from '../sell.ts'
import { noMedia } from '../video-media/media-lengths.ts'

/**
 * The same function that prices the charge, so a quote cannot differ from it. The video of an upscale is read for it,
 * and is fetched for nobody who has not the least credit that a paid call takes.
 */
export const quoteVideoRoute = route(quoteVideo, async (call, service) => {
  const { body, signal } = call
  const model = service.catalogue.video(body.model)
  checkVideoPrice(model, body)
  const isFetched = isUpscaler(model) && body.video_url !== undefined && !body.video_url.startsWith('data:')
  if (isFetched) await requireFunds(call, admissionFloor)
  const references = body.reference_video_total_duration ?? 0
  const { lengths } = isUpscaler(model)
    ? await service.media.take({ ...body, prompt: noPrompt }, signal)
    : { lengths: { ...noMedia, references } }
  return json({ quote: toUsdNumber(priceOf(model, body, lengths).total) })
})
