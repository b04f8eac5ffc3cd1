import { balanceRemaining } from '#contract/headers.ts'
import { queueVideo } from '#contract/video.ts'
import { json, principalOf } from '../call.ts'
import { checkVideo } from '../models/check-video.ts'
import { settledRequest } from '../models/video-settings.ts'
import { quoteVideo } from '../pricing/price-video.ts'
import { route } from '../route.ts'

/** Checks come before the charge, so that a refused request never touches money. */
export const queueVideoRoute = route(queueVideo, async (call, service) => {
  const { account, kind } = principalOf(call)
  const model = service.catalogue.video(call.body.model)
  checkVideo(model, call.body)
  await service.consent.require(model, call.body)
  const job = await service.jobs.accept({
    requestId: call.requestId,
    account,
    model,
    request: settledRequest(model, call.body),
    price: quoteVideo(model, call.body),
  })
  if (kind === 'wallet' && job.availableMicroUsd !== null) call.set(balanceRemaining, job.availableMicroUsd)
  return json({
    model: model.id,
    queue_id: job.jobId,
    ...(job.downloadUrl === null ? {} : { download_url: job.downloadUrl }),
  })
})
