import { addUsd, type MicroUsd, microUsd, priceLines } from '#contract/money.ts'
import type { VideoQueueRequest, VideoQuoteRequest } from '#contract/video.ts'
import type { VideoModel } from '../models/model.ts'
import { type VideoSettings, videoSettings } from '../models/video-settings.ts'
import type { Line } from '../store/units.ts'

export interface VideoPriceQuoted {
  total: MicroUsd
  lines: Line[]
}

/** What a video costs: the answer of a quote and, by the same lines, the charge. The request has passed `checkVideo`. */
export function quoteVideo(model: VideoModel, request: VideoQuoteRequest | VideoQueueRequest): VideoPriceQuoted {
  const settings = videoSettings(model, request)
  const units = pricedUnits(model, settings)
  const amounts = priceLines(units)
  const lines = units.map((each, index) => ({ ...each, amount: amounts[index] ?? microUsd(0) }))
  return { total: addUsd(...amounts), lines }
}

const picoPerMicro = 1_000_000n

function pricedUnits({ id, price }: VideoModel, { seconds, resolution, audio }: VideoSettings) {
  const perSecond = price.perSecondMicroUsd[resolution ?? '']
  if (perSecond === undefined) throw new Error(`Model ${id} has no price for the resolution "${resolution ?? ''}".`)
  const units = BigInt(seconds)
  const picture = {
    sku: resolution ? `video.second.${resolution}` : 'video.second',
    units,
    unitPricePicoUsd: perSecond * picoPerMicro,
  }
  if (!audio || price.audioPerSecondMicroUsd === 0n) return [picture]
  return [picture, { sku: 'video.audio.second', units, unitPricePicoUsd: price.audioPerSecondMicroUsd * picoPerMicro }]
}
