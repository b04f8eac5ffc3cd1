import { toUsdNumber } from '#contract/money.ts'
import { completeVideo, noPrompt, queueVideo, quoteVideo, retrieveVideo } from '#contract/operations/video.ts'
import { createVideoTranscription } from '#contract/operations/video-transcription.ts'
import { noMedia, shortestMedia } from '#engines/video-media/request-media.ts'
import { admissionFloor } from '#ledger/bounds.ts'
import { json, principalOf, route } from '../../http/route.ts'
import { requireFunds, tellRemaining } from '../../http/sell.ts'
import type { QueuedJob } from '../../jobs/jobs.ts'
import { isUpscaler } from '../../models/model.ts'
import { answerFoundJob, askedJob } from '../queued-job.ts'
import { checkVideo, checkVideoPrice } from './check-video.ts'
import { priceVideo as priceOf, priceVideo, settledRequest } from './price-video.ts'
import { answerVideoTranscription } from './transcription.ts'

/**
 * The same function that prices the charge, so a quote cannot differ from it. The video of an upscale is read for it,
 * and is fetched for nobody who has not the least credit that a paid call takes.
 */
export const quoteVideoRoute = route(quoteVideo, async (call, service) => {
  const { body } = call
  const model = service.catalogue.video(body.model)
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
 * Checks come before the charge, so that a refused request never touches money; and nothing is fetched, measured or looked
 * at for somebody who could not pay for the shortest video.
 */
export const queueVideoRoute = route(queueVideo, async (call, service) => {
  const principal = principalOf(call)
  const model = service.catalogue.video(call.body.model)
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
  return answerFoundJob({ request, deletes: call.body.delete_media_on_completion }, service)
})

export const completeVideoRoute = route(completeVideo, async (call, service) => {
  const success = await service.jobs.complete(
    askedJob(call, call.body, { type: 'video', catalogue: service.catalogue }),
  )
  return json({ success })
})

export const createVideoTranscriptionRoute = route(createVideoTranscription, async (call, service) =>
  answerVideoTranscription(call, call.body, service),
)
