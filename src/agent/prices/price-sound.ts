import { fromUsdNumber } from '#contract/money.ts'
import {
  AudioQueueRequest,
  quoteAudio,
  type SpeechRequest,
  type TranscriptionRequest,
} from '#contract/operations/audio.ts'
import { mostOfAsked, shownModel } from './asked-models.ts'
import { hasOtherMembers } from './chat-extras.ts'
import type { Pricer } from './priced-call.ts'
import { mostSecondsOf } from './recording-seconds.ts'
import { speechBound } from './speech-bound.ts'
import { transcriptionBound } from './transcription-bound.ts'

export const priceSpeech: Pricer = async ({ models }, call) => {
  const body = call as SpeechRequest
  return {
    what: `Speech by ${shownModel(body.model)}`,
    amountMicroUsd: await mostOfAsked(models, 'tts', body.model, (record, all) => speechBound(record, body, all)),
  }
}

export const priceTranscription: Pricer = async ({ models }, call) => {
  const body = call as TranscriptionRequest
  const mostSeconds = mostSecondsOf(new Uint8Array(await body.file.arrayBuffer()))
  return {
    what: `A transcript by ${shownModel(body.model)}`,
    amountMicroUsd: await mostOfAsked(models, 'asr', body.model, (record, all) =>
      transcriptionBound(record, { body, mostSeconds }, all),
    ),
  }
}

/** A quote takes what a price depends on, and no other members. */
export const priceMusic: Pricer = async ({ client }, call) => {
  const { model, duration_seconds, prompt } = call as AudioQueueRequest
  const what = `Music by ${shownModel(model)}`
  if (hasOtherMembers(call as object, AudioQueueRequest.shape)) return { what, amountMicroUsd: null }
  const body = { model, duration_seconds, character_count: [...prompt].length }
  const { answer } = await client.call(quoteAudio, { params: undefined, query: undefined, body })
  const quote = fromUsdNumber(answer.quote)
  return { what, amountMicroUsd: quote !== null && quote >= 0n ? quote : null }
}
