import { retrieveVideo } from '#contract/video.ts'
import { askedJob } from '../jobs/asked-job.ts'
import { answerFoundJob } from '../jobs/found-job.ts'
import { route } from '../route.ts'

export const retrieveVideoRoute = route(retrieveVideo, async (call, service) => {
  const request = askedJob(call, call.body, { type: 'video', catalogue: service.catalogue })
  return answerFoundJob({ request, deletes: call.body.delete_media_on_completion }, service)
})
