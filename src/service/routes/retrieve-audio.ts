import { retrieveAudio } from '#contract/audio-jobs.ts'
import { askedJob } from '../jobs/asked-job.ts'
import { answerFoundJob } from '../jobs/found-job.ts'
import { route } from '../route.ts'

export const retrieveAudioRoute = route(retrieveAudio, async (call, service) => {
  const request = askedJob(call, call.body, { type: 'music', catalogue: service.catalogue })
  return answerFoundJob({ request, deletes: call.body.delete_media_on_completion }, service)
})
