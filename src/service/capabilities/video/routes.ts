import { inferenceFailed } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { microUsd, toUsdNumber } from '#contract/money.ts'
import {
  completeVideo,
  createVideoTranscription,
  noPrompt,
  queueVideo,
  quoteVideo,
  retrieveVideo,
  type VideoTranscript,
  type VideoTranscriptionRequest,
} from '#contract/operations/video.ts'
import { augmentMicroUsd } from '#contract/operations/web.ts'
import { sniffType } from '#contract/wire/media-type.ts'
import { FetchRefused } from '#engines/fetch/fetcher.ts'
import { noMedia, shortestMedia } from '#engines/video-media/media-limits.ts'
import { boundedWait } from '#host/async.ts'
import { admissionFloor } from '#ledger/bounds.ts'
import { type Call, json, principalOf, route, type WholeReply } from '../../http/route.ts'
import { requireFunds, sell, tellRemaining } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import type { QueuedJob } from '../../jobs/jobs.ts'
import { isUpscaler } from '../../models/model.ts'
import { answerFoundJob, askedJob, completeFoundJob } from '../queued-job.ts'
import { unset, webPiecePrice } from '../web/routes.ts'
import { checkVideo, checkVideoPrice, priceVideo as priceOf, priceVideo, settledRequest } from './quote-video.ts'

/**
 * Uses the function that prices the charge, so a quote cannot differ from it. For an upscale the video must be fetched
 * and read, which is only done for callers with the minimum credit of a paid call.
 */
export const quoteVideoRoute = route(quoteVideo, async (call, service) => {
  const { body } = call
  const model = service.catalogue.find('video', body.model)
  checkVideoPrice(model, body)
  const isFetched = isUpscaler(model) && body.video_url !== undefined && !body.video_url.startsWith('data:')
  if (isFetched) await requireFunds(call, admissionFloor)
  const references = body.reference_video_total_duration ?? 0
  const { lengths } = isUpscaler(model)
    ? await service.media.take({ ...body, prompt: noPrompt }, call)
    : { lengths: { ...noMedia, references } }
  return json({ quote: toUsdNumber(priceOf(model, body, lengths).total) })
})

/**
 * Everything is checked before the charge, so that a refused request never touches money; and nothing is fetched or
 * measured for a caller who could not pay for the shortest video.
 */
export const queueVideoRoute = route(queueVideo, async (call, service) => {
  const principal = principalOf(call)
  const model = service.catalogue.find('video', call.body.model)
  checkVideo(model, call.body)
  await requireFunds(call, priceVideo(model, call.body, shortestMedia).total)
  const { request, media, lengths } = await service.media.take(call.body, call)
  const shown = { account: principal.account, model, request, media, signal: call.signal }
  const marks = await service.consent.require(shown)
  const replyOf = ({ jobId, downloadUrl }: QueuedJob) =>
    json({ model: model.id, queue_id: jobId, ...(downloadUrl === null ? {} : { download_url: downloadUrl }) })
  const job = await service.jobs.accept({
    requestId: call.requestId,
    principal,
    model,
    request: settledRequest(model, request, lengths),
    price: priceVideo(model, request, lengths),
    marks,
    alsoCommit: queued => call.keep(() => replyOf(queued)),
  })
  tellRemaining(call, job.availableMicroUsd)
  return replyOf(job)
})

export const retrieveVideoRoute = route(retrieveVideo, async (call, service) => {
  const request = askedJob(call, call.body, { type: 'video', catalogue: service.catalogue })
  return answerFoundJob({ call, request, deletes: call.body.delete_media_on_completion }, service)
})

export const completeVideoRoute = route(completeVideo, async (call, service) => {
  const request = askedJob(call, call.body, { type: 'video', catalogue: service.catalogue })
  return completeFoundJob(call, request, service)
})

export const createVideoTranscriptionRoute = route(createVideoTranscription, async (call, service) =>
  answerVideoTranscription(call, call.body, service),
)

/** Largest video to transcribe: an hour of a talk in 480p. */
const transcribedBytes = 100 * 1024 * 1024

/** Timeout of fetching it. */
const transcribedFetchMs = 60_000

/** Timeout of transcribing it. */
const transcriptMs = 600_000

/**
 * Transcribes a video. The service itself fetches it with the guarded fetcher, and the engine never sees the URL; a
 * failure is free.
 */
export async function answerVideoTranscription(call: Call, body: VideoTranscriptionRequest, service: Service) {
  const { transcriber } = service
  if (!transcriber) {
    throw unset('This service cannot transcribe videos. Send the text itself, or ask its operator to enable it.')
  }
  return sell(call, { model: null, amount: microUsd(augmentMicroUsd) }, service, async () => {
    const { signal } = call
    const video = await fetchVideo(body.url, call)
    const transcript = await boundedWait(transcriber.transcribe({ ...video, signal }), {
      signal,
      timeoutMs: transcriptMs,
    }).catch(error => {
      signal.throwIfAborted()
      if (error instanceof ServiceError) throw error
      service.log.warn({ err: error }, 'A video could not be transcribed.')
      throw inferenceFailed()
    })
    const reply = replyOf(transcript, body.response_format)
    return { value: reply, lines: [webPiecePrice('video.transcription')], alsoCommit: () => call.keep(() => reply) }
  })
}

async function fetchVideo(url: string, { fetcher, signal }: Pick<Call, 'fetcher' | 'signal'>) {
  const order = { url, mostBytes: transcribedBytes, timeoutMs: transcribedFetchMs, accept: 'video/*', signal }
  const { bytes, mimeType } = await fetcher.fetch(order).catch(error => {
    throw error instanceof FetchRefused ? fieldError(['url'], error.message) : error
  })
  if (!isVideo(bytes)) throw fieldError(['url'], 'is not a video: give the URL of an MP4, MOV or WebM file')
  return { bytes, mimeType }
}

/** An MP4 may contain only audio, which can be transcribed too. */
function isVideo(bytes: Buffer): boolean {
  const type = sniffType(bytes)
  return type === 'audio/mp4' || type?.startsWith('video/') === true
}

function replyOf(
  { transcript, lang }: VideoTranscript,
  format: VideoTranscriptionRequest['response_format'],
): WholeReply {
  if (format === 'text') return { kind: 'bytes', mimeType: 'text/plain; charset=utf-8', bytes: Buffer.from(transcript) }
  return json({ transcript, ...(lang === undefined ? {} : { lang }) } satisfies VideoTranscript)
}
