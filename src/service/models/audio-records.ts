import { toUsdNumber } from '#contract/money.ts'
import { dayMs } from '#contract/time.ts'
import type { MusicModel, SpeechModel, TranscriptionModel } from './audio-models.ts'
import { voiceRetentionMs } from './bounds.ts'

/** What only models of sound say of themselves (published contract §6.1). */

/** A million characters at 1 pico-USD are a micro-USD; a staking credit is worth a USD (brief §5.4). */
const priced = (picoUsd: bigint, perUnits: number) => {
  const usd = (Number(picoUsd) * perUnits) / 1e12
  return { usd, diem: usd }
}

export const speechSpec = ({ voices, formats, voiceCloning, price }: SpeechModel) => ({
  voices: [...voices],
  default_voice: voices[0],
  supported_formats: [...formats],
  default_format: formats.includes('mp3') ? 'mp3' : formats[0],
  ...(voiceCloning
    ? {
        voice_cloning: {
          mode: voiceCloning.mode,
          accepted_formats: [...voiceCloning.acceptedFormats],
          min_sample_seconds: voiceCloning.minimumSampleSeconds,
          retention_days: voiceRetentionMs / dayMs,
        },
      }
    : {}),
  pricing: { input: priced(price.perCharacterPicoUsd, 1_000_000) },
})

export const transcriptionSpec = ({ price }: TranscriptionModel) => ({
  pricing: { per_audio_second: priced(price.perSecondPicoUsd, 1) },
})

export function musicSpec(model: MusicModel) {
  const { durations, promptCharacters, lyrics, voices, speed, formats } = model
  const range =
    'options' in durations
      ? { duration_options: [...durations.options] }
      : { min_duration: durations.least, max_duration: durations.most }
  return {
    ...range,
    default_duration: durations.default,
    prompt_character_limit: promptCharacters.most,
    min_prompt_length: promptCharacters.least,
    supports_lyrics: lyrics !== undefined,
    ...(lyrics ? { lyrics_required: lyrics.areRequired, lyrics_character_limit: lyrics.characters } : {}),
    supports_force_instrumental: model.hasInstrumental,
    ...(voices.length ? { voices: [...voices], default_voice: voices[0] } : {}),
    supports_language_code: model.hasLanguageCode,
    supports_speed: speed !== undefined,
    ...(speed ? { min_speed: speed.least, max_speed: speed.most, default_speed: speed.default } : {}),
    supported_formats: [...formats],
    default_format: formats[0],
    pricing: musicPricing(model),
  }
}

function musicPricing({ price }: MusicModel) {
  const usd = toUsdNumber(price.microUsd)
  const pair = { usd, diem: usd }
  switch (price.per) {
    case 'generation':
      return { generation: pair }
    case 'second':
      return { per_second: pair }
    case 'thousand-characters':
      return { per_thousand_characters: pair }
  }
}

/** Throws a sentence where a model contradicts itself. */
export function checkSpeechModel({ id, voices, formats, price, voiceCloning, engine }: SpeechModel): void {
  if (price.perCharacterPicoUsd < 0n) throw new Error(`Model ${id} has a price below zero.`)
  if (!voices.length || !formats.length) throw new Error(`Model ${id} must have a voice and a format.`)
  if (voices.some(voice => voice.startsWith('vv_'))) {
    throw new Error(`Model ${id} has a voice that begins with vv_, as only those made of recordings do.`)
  }
  if (voiceCloning && !engine.cloneVoice) throw new Error(`The engine of model ${id} makes no voices of recordings.`)
}

export function checkTranscriptionModel({ id, price, longestSeconds }: TranscriptionModel): void {
  if (price.perSecondPicoUsd < 0n) throw new Error(`Model ${id} has a price below zero.`)
  if (!(longestSeconds >= 1)) throw new Error(`Model ${id} must take at least one second of sound.`)
}

export function checkMusicModel({ id, price, durations, formats }: MusicModel): void {
  if (price.microUsd < 0n) throw new Error(`Model ${id} has a price below zero.`)
  const allowsDefault =
    'options' in durations
      ? durations.options.includes(durations.default)
      : durations.least <= durations.default && durations.default <= durations.most
  if (!allowsDefault) throw new Error(`Model ${id} must allow the duration that it makes by itself.`)
  if (!formats.length) throw new Error(`Model ${id} must have a format.`)
}
