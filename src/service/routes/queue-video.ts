import { queueVideo } from '#contract/video.ts'
import { json, principalOf } from '../call.ts'
import { checkVideo } from '../models/check-video.ts'
import { settledRequest } from '../models/video-settings.ts'
import { quoteVideo } from '../pricing/price-video.ts'
import { route } from '../route.ts'
import { requireFunds, tellRemaining } from '../sell.ts'
import type { QueuedJob } from '../service.ts'
import { shortestMedia } from '../video-media/media-lengths.ts'

/**
 * Checks come before the charge, so that a refused request never touches money; and nothing is fetched, measured or looked
 * at for somebody who could not pay for the shortest video.
 */
export const queueVideoRoute = route(queueVideo, async (call, service) => {
  const principal = principalOf(call)
  const model = service.catalogue.video(call.body.model)
  checkVideo(model, call.body)
  await requireFunds(call, quoteVideo(model, call.body, shortestMedia).total)
  const { request, media, lengths } = await service.media.take(call.body, call.signal)
  const shown = { account: principal.account, model, request, media, signal: call.signal }
  const marks = await service.consent.require(shown)
  const replyOf = ({ jobId, downloadUrl }: QueuedJob) =>
    json({ model: model.id, queue_id: jobId, ...(downloadUrl === null ? {} : { download_url: downloadUrl }) })
  const job = await service.jobs.accept({
    requestId: call.requestId,
    principal,
    model,
    request: settledRequest(model, request, lengths),
    price: quoteVideo(model, request, lengths),
    marks,
    alsoCommit: queued => call.keep(() => replyOf(queued)),
  })
  tellRemaining(call, job.availableMicroUsd)
  return replyOf(job)
})
