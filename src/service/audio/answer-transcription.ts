import { payloadTooLarge } from '#contract/errors.ts'
import { uploadBytes } from '#contract/limits.ts'
import type { Transcription, TranscriptionRequest } from '#contract/transcription.ts'
import { boundedWait } from '../bounded-wait.ts'
import { type Call, json, type WholeReply } from '../call.ts'
import type { TranscribedSpeech } from '../engines/audio-engines.ts'
import { fieldError } from '../field-error.ts'
import type { TranscriptionModel } from '../models/audio-models.ts'
import { requireCarried } from '../models/carried.ts'
import { transcriptionLines, transcriptionPrice } from '../pricing/price-audio.ts'
import { requireFunds, sell } from '../sell.ts'
import type { Service } from '../service.ts'
import { lowestBitsPerSecond } from '../sound/bounds.ts'
import { type Measuring, soundLength } from '../sound/sound-seconds.ts'
import { type Recording, recordingOf, soundTypeNames } from '../sound/sound-type.ts'

/**
 * What is said in a recording, by its begun seconds. They are measured here; only where nothing can measure them, the
 * engine's word counts, and never for more than was held.
 */
export async function answerTranscription(
  call: Call,
  body: TranscriptionRequest,
  service: Service,
): Promise<WholeReply> {
  const model = service.catalogue.transcription(body.model)
  if (body.timestamps && !model.hasTimestamps) {
    throw fieldError(['timestamps'], `${model.id} does not take timestamps; leave it out`)
  }
  requireCarried(model, { language: body.language })
  const recording = await uploadedRecording(body.file)
  // Measuring costs a run of a program: it is for those who can pay for the first second.
  await requireFunds(call, transcriptionPrice(model, 1))
  const measured = await measuredSeconds(recording, { atMostSeconds: model.longestSeconds, signal: call.signal })
  const most = measured ?? Math.min(model.longestSeconds, (recording.bytes.length * 8) / lowestBitsPerSecond)
  if (most > model.longestSeconds) {
    throw fieldError(['file'], `is too long; ${model.id} takes ${model.longestSeconds} s at most`)
  }
  return sell(call, { model: model.id, amount: transcriptionPrice(model, most) }, service, async () => {
    const said = await transcribed(model, { recording, body, signal: call.signal })
    call.signal.throwIfAborted()
    const seconds = measured ?? Math.min(most, said.seconds ?? most)
    const reply = replyOf(body, said, seconds)
    return { value: reply, lines: transcriptionLines(model, seconds), alsoCommit: () => call.keep(() => reply) }
  })
}

/** An upload that is sound. Throws a 413 for one that is too large, a 400 for one of another kind. */
export async function uploadedRecording(file: File): Promise<Recording> {
  if (file.size > uploadBytes) {
    throw payloadTooLarge({
      code: 'PAYLOAD_TOO_LARGE',
      error: `File exceeds the maximum allowed size of ${uploadBytes / 1024 / 1024} MB.`,
    })
  }
  const recording = await recordingOf(file)
  if (!recording) throw fieldError(['file'], `is no file of sound; send one of ${soundTypeNames}`)
  return recording
}

async function measuredSeconds(recording: Recording, measuring: Measuring): Promise<number | null> {
  const length = await soundLength(recording, measuring)
  if (length === 'broken') throw fieldError(['file'], 'has no sound that can be read; is it whole?')
  return length === 'unknown' ? null : length.seconds
}

interface Asked {
  recording: Recording
  body: TranscriptionRequest
  signal: AbortSignal
}

function transcribed({ engine, engineModel }: TranscriptionModel, { recording, body, signal }: Asked) {
  const { language, timestamps } = body
  const asked = { recording, timestamps, engineModel, signal, ...(language === undefined ? {} : { language }) }
  return boundedWait(engine.transcribe(asked), { signal })
}

function replyOf(body: TranscriptionRequest, said: TranscribedSpeech, seconds: number): WholeReply {
  const { text, timestamps } = said
  if (body.response_format === 'text') {
    return { kind: 'bytes', mimeType: 'text/plain; charset=utf-8', bytes: Buffer.from(text, 'utf8') }
  }
  const duration = Math.round(seconds * 1000) / 1000
  return json({
    text,
    duration,
    ...(body.timestamps && timestamps ? { timestamps } : {}),
  } satisfies Transcription)
}
