import { completeVideo } from '#contract/video.ts'
import { json, principalOf } from '../call.ts'
import { route } from '../route.ts'

export const completeVideoRoute = route(completeVideo, async (call, service) => {
  const success = await service.jobs.complete({
    account: principalOf(call).account,
    jobId: call.body.queue_id,
    model: call.body.model,
  })
  return json({ success })
})
