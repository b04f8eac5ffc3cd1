import { addUsd, type MicroUsd, microUsd, priceLines } from '#contract/money.ts'
import type { VideoQueueRequest, VideoQuoteRequest } from '#contract/operations/video.ts'
import { type MediaLengths, noMedia } from '#engines/video-media/media-lengths.ts'
import type { Line } from '#ledger/store/units.ts'
import type { VideoModel } from '../../models/model.ts'
import { type VideoSettings, videoSettings } from './video-settings.ts'

interface VideoPriceQuoted {
  total: MicroUsd
  lines: Line[]
}

/** What a video costs: the answer of a quote and, by the same lines, the charge. The request has passed `checkVideo`. */
export function priceVideo(
  model: VideoModel,
  request: VideoQuoteRequest | VideoQueueRequest,
  lengths: MediaLengths = noMedia,
): VideoPriceQuoted {
  const units = [
    ...pricedUnits(model, videoSettings(model, request, lengths)),
    ...referenceUnits(model, lengths.references),
  ]
  const amounts = priceLines(units)
  const lines = units.map((each, index) => ({ ...each, amount: amounts[index] ?? microUsd(0) }))
  return { total: addUsd(...amounts), lines }
}

const picoPerMicro = 1_000_000n

function pricedUnits({ id, price }: VideoModel, { seconds, resolution, audio, upscaleFactor }: VideoSettings) {
  const choice = upscaleFactor === null ? resolution : `${upscaleFactor}x`
  const perSecond = price.perSecondMicroUsd[choice ?? '']
  if (perSecond === undefined) throw new Error(`Model ${id} has no price for the resolution "${choice ?? ''}".`)
  const units = BigInt(seconds)
  const picture = {
    sku: choice ? `video.second.${choice}` : 'video.second',
    units,
    unitPricePicoUsd: perSecond * picoPerMicro,
  }
  if (!audio || price.audioPerSecondMicroUsd === 0n) return [picture]
  return [picture, { sku: 'video.audio.second', units, unitPricePicoUsd: price.audioPerSecondMicroUsd * picoPerMicro }]
}

/** Seconds that have begun, of all reference videos together. */
function referenceUnits({ price }: VideoModel, seconds: number) {
  const perSecond = price.referencePerSecondMicroUsd ?? 0n
  if (perSecond === 0n || seconds === 0) return []
  const units = BigInt(Math.ceil(seconds))
  return [{ sku: 'video.reference.second', units, unitPricePicoUsd: perSecond * picoPerMicro }]
}
