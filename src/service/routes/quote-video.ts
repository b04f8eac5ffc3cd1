import { toUsdNumber } from '#contract/money.ts'
import { quoteVideo } from '#contract/video.ts'
import { json } from '../call.ts'
import { checkVideoPrice } from '../models/check-video.ts'
import { quoteVideo as priceOf } from '../pricing/price-video.ts'
import { route } from '../route.ts'

/** The same function that prices the charge, so a quote cannot differ from it. */
export const quoteVideoRoute = route(quoteVideo, async ({ body }, service) => {
  const model = service.catalogue.video(body.model)
  checkVideoPrice(model, body)
  return json({ quote: toUsdNumber(priceOf(model, body).total) })
})
