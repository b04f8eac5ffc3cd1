import { fieldError } from '#contract/errors/issues.ts'
import { toUsdNumber } from '#contract/money.ts'
import {
  type AudioQueueRequest,
  completeAudio,
  createSpeech,
  createTranscription,
  createVoice,
  queueAudio,
  quoteAudio,
  retrieveAudio,
} from '#contract/operations/audio.ts'
import { json, principalOf, route } from '../../http/route.ts'
import { tellRemaining } from '../../http/sell.ts'
import type { QueuedJob } from '../../jobs/jobs.ts'
import type { MusicModel } from '../../models/model.ts'
import { answerFoundJob, askedJob, completeFoundJob } from '../queued-job.ts'
import { answerTranscription, answerVoice } from './recordings.ts'
import { answerSpeech, charactersOf, quoteMusic } from './speech.ts'

export const createSpeechRoute = route(createSpeech, (call, service) => answerSpeech(call, call.body, service))

export const createTranscriptionRoute = route(createTranscription, (call, service) =>
  answerTranscription(call, call.body, service),
)

export const createVoiceRoute = route(createVoice, (call, service) => answerVoice(call, call.body, service))

/** Uses the function that prices the charge, so a quote cannot differ from it. */
export const quoteAudioRoute = route(quoteAudio, async ({ body }, service) => {
  const model = service.catalogue.find('music', body.model)
  const { duration_seconds: seconds, character_count: characters } = body
  checkDuration(model, seconds)
  return json({ quote: toUsdNumber(quoteMusic(model, { seconds, characters }).total) })
})

/**
 * As for a video: everything is checked before the charge, and the engine gets explicit values for everything that was
 * priced.
 */
export const queueAudioRoute = route(queueAudio, async (call, service) => {
  const model = service.catalogue.find('music', call.body.model)
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
  return answerFoundJob({ call, request, deletes: call.body.delete_media_on_completion }, service)
})

export const completeAudioRoute = route(completeAudio, async (call, service) => {
  const request = askedJob(call, call.body, { type: 'music', catalogue: service.catalogue })
  return completeFoundJob(call, request, service)
})

/** Checks everything on which a quote also depends. Throws `invalidRequest` with the allowed values. */
function checkDuration({ id, durations }: MusicModel, seconds: number | undefined): void {
  if (seconds === undefined) return
  if ('options' in durations) {
    if (durations.options.includes(seconds)) return
    throw fieldError(['duration_seconds'], `is not supported by ${id}; allowed values: ${durations.options.join(', ')}`)
  }
  const { least, most } = durations
  if (seconds >= least && seconds <= most) return
  throw fieldError(['duration_seconds'], `${id} supports ${least} to ${most} seconds`)
}

/** Checks a whole queue request against the model's record. Throws `invalidRequest`. */
function checkMusic(model: MusicModel, request: AudioQueueRequest): void {
  checkDuration(model, request.duration_seconds)
  checkLength(model, 'prompt', request.prompt, model.promptCharacters)
  checkLyrics(model, request)
  if (request.force_instrumental && !model.hasInstrumental) throw notTaken(model, 'force_instrumental')
  if (request.lyrics_optimizer && !model.hasLyricsOptimizer) throw notTaken(model, 'lyrics_optimizer')
  if (request.language_code !== undefined && !model.hasLanguageCode) throw notTaken(model, 'language_code')
  checkVoice(model, request.voice)
  checkSpeed(model, request.speed)
}

function checkLyrics(model: MusicModel, request: AudioQueueRequest): void {
  const { lyrics } = model
  if (request.lyrics_prompt) {
    if (!lyrics) throw notTaken(model, 'lyrics_prompt')
    checkLength(model, 'lyrics_prompt', request.lyrics_prompt, { least: 1, most: lyrics.characters })
  } else if (lyrics?.areRequired && !request.lyrics_optimizer && !request.force_instrumental) {
    throw fieldError(['lyrics_prompt'], `${model.id} needs lyrics`)
  }
}

function checkLength(
  { id }: MusicModel,
  field: string,
  { length }: string,
  { least, most }: { least: number; most: number },
): void {
  if (length >= least && length <= most) return
  throw fieldError([field], `has ${length} characters; ${id} accepts ${least} to ${most}`)
}

function checkVoice(model: MusicModel, voice: string | undefined): void {
  if (voice === undefined || model.voices.includes(voice)) return
  if (model.voices.length === 0) throw notTaken(model, 'voice')
  throw fieldError(['voice'], `is not supported by ${model.id}; allowed values: ${model.voices.join(', ')}`)
}

function checkSpeed(model: MusicModel, speed: number | undefined): void {
  if (speed === undefined) return
  if (!model.speed) throw notTaken(model, 'speed')
  const { least, most } = model.speed
  if (speed < least || speed > most) throw fieldError(['speed'], `${model.id} accepts ${least} to ${most}`)
}

const notTaken = (model: MusicModel, field: string) =>
  fieldError([field], `${model.id} does not support ${field}; leave it out`)
