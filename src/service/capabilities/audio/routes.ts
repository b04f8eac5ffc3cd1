import { toUsdNumber } from '#contract/money.ts'
import {
  completeAudio,
  createSpeech,
  createTranscription,
  createVoice,
  queueAudio,
  quoteAudio,
  retrieveAudio,
} from '#contract/operations/audio.ts'
import { json, principalOf } from '../../http/call.ts'
import { route } from '../../http/route.ts'
import { tellRemaining } from '../../http/sell.ts'
import type { QueuedJob } from '../../jobs/jobs.ts'
import { askedJob } from '../jobs/asked-job.ts'
import { answerFoundJob } from '../jobs/found-job.ts'
import { answerSpeech } from './answer-speech.ts'
import { answerTranscription } from './answer-transcription.ts'
import { answerVoice } from './answer-voice.ts'
import { checkDuration, checkMusic } from './check-music.ts'
import { charactersOf } from './price-audio.ts'
import { quoteMusic } from './price-music.ts'

export const createSpeechRoute = route(createSpeech, (call, service) => answerSpeech(call, call.body, service))

export const createTranscriptionRoute = route(createTranscription, (call, service) =>
  answerTranscription(call, call.body, service),
)

export const createVoiceRoute = route(createVoice, (call, service) => answerVoice(call, call.body, service))

/** The same function that prices the charge, so a quote cannot differ from it. */
export const quoteAudioRoute = route(quoteAudio, async ({ body }, service) => {
  const model = service.catalogue.music(body.model)
  const { duration_seconds: seconds, character_count: characters } = body
  checkDuration(model, seconds)
  return json({ quote: toUsdNumber(quoteMusic(model, { seconds, characters }).total) })
})

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

export const retrieveAudioRoute = route(retrieveAudio, async (call, service) => {
  const request = askedJob(call, call.body, { type: 'music', catalogue: service.catalogue })
  return answerFoundJob({ request, deletes: call.body.delete_media_on_completion }, service)
})

export const completeAudioRoute = route(completeAudio, async (call, service) => {
  const success = await service.jobs.complete(
    askedJob(call, call.body, { type: 'music', catalogue: service.catalogue }),
  )
  return json({ success })
})
