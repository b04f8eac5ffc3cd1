import { completeVideo } from '#contract/video.ts'
import { json } from '../call.ts'
import { askedJob } from '../jobs/asked-job.ts'
import { route } from '../route.ts'

export const completeVideoRoute = route(completeVideo, async (call, service) => {
  const success = await service.jobs.complete(
    askedJob(call, call.body, { type: 'video', catalogue: service.catalogue }),
  )
  return json({ success })
})
