import { completeAudio } from '#contract/audio-jobs.ts'
import { json } from '../call.ts'
import { askedJob } from '../jobs/asked-job.ts'
import { route } from '../route.ts'

export const completeAudioRoute = route(completeAudio, async (call, service) => {
  const success = await service.jobs.complete(
    askedJob(call, call.body, { type: 'music', catalogue: service.catalogue }),
  )
  return json({ success })
})
