import { queueAudio } from '#contract/audio-jobs.ts'
import { checkMusic } from '../audio/check-music.ts'
import { json, principalOf } from '../call.ts'
import { charactersOf } from '../pricing/price-audio.ts'
import { quoteMusic } from '../pricing/price-music.ts'
import { route } from '../route.ts'
import { tellRemaining } from '../sell.ts'
import type { QueuedJob } from '../service.ts'

/** As for a video: checks come before the charge, and what the engine is given says all that was priced. */
export const queueAudioRoute = route(queueAudio, async (call, service) => {
  const model = service.catalogue.music(call.body.model)
  checkMusic(model, call.body)
  const seconds = call.body.duration_seconds ?? model.durations.default
  const replyOf = ({ jobId }: QueuedJob) => json({ model: model.id, queue_id: jobId, status: 'QUEUED' })
  const job = await service.jobs.accept({
    requestId: call.requestId,
    principal: principalOf(call),
    model,
    request: { ...call.body, duration_seconds: seconds },
    price: quoteMusic(model, { seconds, characters: charactersOf(call.body.prompt) }),
    alsoCommit: queued => call.keep(() => replyOf(queued)),
  })
  tellRemaining(call, job.availableMicroUsd)
  return replyOf(job)
})
