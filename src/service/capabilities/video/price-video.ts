import { addUsd, type MicroUsd, microUsd, priceLines } from '#contract/money.ts'
import type { UpscaleFactor, VideoQueueRequest, VideoQuoteRequest } from '#contract/operations/video.ts'
import { type MediaLengths, noMedia, secondsOf } from '#engines/video-media/request-media.ts'
import type { Line } from '#ledger/store/units.ts'
import { isUpscaler, upscaleFactor, type VideoModel } from '../../models/model.ts'

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

/** What a request comes to once the model's defaults stand in for what it leaves out. */
interface VideoSettings {
  seconds: number
  /** Null where the model has no choice. */
  resolution: string | null
  aspectRatio: string | null
  audio: boolean
  /** Null but for upscalers. */
  upscaleFactor: UpscaleFactor | null
}

/** The first value of a model's list is its default; sound is on unless told otherwise (brief §2.6). */
function videoSettings(
  model: Pick<VideoModel, 'constraints'>,
  request: Pick<
    VideoQueueRequest | VideoQuoteRequest,
    'duration' | 'resolution' | 'aspect_ratio' | 'audio' | 'upscale_factor'
  >,
  lengths: MediaLengths = noMedia,
): VideoSettings {
  const { resolutions, aspect_ratios: ratios, audio, audio_configurable: configurable } = model.constraints
  const upscales = isUpscaler(model)
  return {
    seconds: upscales ? detectedSeconds(lengths) : secondsOf(request.duration),
    resolution: resolutions.length ? (request.resolution ?? resolutions[0] ?? null) : null,
    aspectRatio: ratios.length ? (request.aspect_ratio ?? ratios[0] ?? null) : null,
    audio: audio && (!configurable || request.audio !== false),
    upscaleFactor: upscaleFactor(model, request.upscale_factor),
  }
}

/** Seconds that have begun are whole ones: 2.4 s cost what 3 s cost. */
function detectedSeconds({ video }: MediaLengths): number {
  if (video === null) throw new Error('An upscale cannot be priced before its video has been read.')
  return Math.max(1, Math.ceil(video))
}

/** A request that says all of it, so that the engine draws what was priced. */
export function settledRequest(
  model: Pick<VideoModel, 'constraints'>,
  request: VideoQueueRequest,
  lengths: MediaLengths = noMedia,
): VideoQueueRequest {
  const { resolution, aspectRatio, audio, upscaleFactor: factor } = videoSettings(model, request, lengths)
  const settled = { ...request, audio }
  if (resolution !== null) settled.resolution = resolution as VideoQueueRequest['resolution']
  if (aspectRatio !== null) settled.aspect_ratio = aspectRatio as VideoQueueRequest['aspect_ratio']
  if (factor !== null) settled.upscale_factor = factor
  return settled
}
