import { fieldError } from '#contract/errors/issues.ts'
import type { AudioQueueRequest } from '#contract/operations/audio.ts'
import type { MusicModel } from '../../models/audio-models.ts'

/** What a quote depends on, too. Throws `invalidRequest` with the allowed values. */
export function checkDuration({ id, durations }: MusicModel, seconds: number | undefined): void {
  if (seconds === undefined) return
  if ('options' in durations) {
    if (durations.options.includes(seconds)) return
    throw fieldError(['duration_seconds'], `is none of ${id}; allowed values: ${durations.options.join(', ')}`)
  }
  const { least, most } = durations
  if (seconds >= least && seconds <= most) return
  throw fieldError(['duration_seconds'], `${id} makes ${least} to ${most} seconds`)
}

/** All of a queue request against the model's record. Throws `invalidRequest`. */
export function checkMusic(model: MusicModel, request: AudioQueueRequest): void {
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
  throw fieldError([field], `has ${length} characters; ${id} takes ${least} to ${most}`)
}

function checkVoice(model: MusicModel, voice: string | undefined): void {
  if (voice === undefined || model.voices.includes(voice)) return
  if (model.voices.length === 0) throw notTaken(model, 'voice')
  throw fieldError(['voice'], `is none of ${model.id}; allowed values: ${model.voices.join(', ')}`)
}

function checkSpeed(model: MusicModel, speed: number | undefined): void {
  if (speed === undefined) return
  if (!model.speed) throw notTaken(model, 'speed')
  const { least, most } = model.speed
  if (speed < least || speed > most) throw fieldError(['speed'], `${model.id} takes ${least} to ${most}`)
}

const notTaken = (model: MusicModel, field: string) =>
  fieldError([field], `${model.id} does not take ${field}; leave it out`)
