import { payloadTooLarge } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { uploadBytes } from '#contract/limits.ts'
import type { Transcription, TranscriptionRequest } from '#contract/operations/audio.ts'
import { type TakenRecording, takeLongRecording } from '#engines/audio/audio-codec.ts'
import { audioTypeNames, type Recording, recordingOf, spokenRate } from '#engines/audio/recording.ts'
import type { TranscribedSpeech } from '#engines/ports/media-engines.ts'
import { boundedWait } from '#host/async.ts'
import { type Call, json, type WholeReply } from '../../http/route.ts'
import { requireFunds, sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { requireCarried } from '../../models/carried-choices.ts'
import type { TranscriptionModel } from '../../models/model.ts'
import { transcriptionLines, transcriptionPrice } from './price-audio.ts'

/**
 * What is said in a recording, by its begun seconds. The engine gets the samples that were measured, and no file of the
 * caller's.
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
  const uploaded = await uploadedRecording(body.file)
  // Measuring costs a run of a program: it is for those who can pay for the first second.
  await requireFunds(call, transcriptionPrice(model, 1))
  const taking = { rate: spokenRate, atMostSeconds: model.longestSeconds, signal: call.signal }
  const { recording, seconds } = readable(await takeLongRecording(uploaded, taking))
  if (seconds > model.longestSeconds) {
    throw fieldError(['file'], `is too long; ${model.id} takes ${model.longestSeconds} s at most`)
  }
  return sell(call, { model: model.id, amount: transcriptionPrice(model, seconds) }, service, async () => {
    const said = await transcribed(model, { recording, body, signal: call.signal })
    call.signal.throwIfAborted()
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
  if (!recording) throw fieldError(['file'], `is not an audio file; send one of ${audioTypeNames}`)
  return recording
}

/** Throws `invalidRequest` for what could not be taken. */
export function readable(taken: TakenRecording | 'broken' | 'unknown'): TakenRecording {
  if (taken === 'broken') throw fieldError(['file'], 'has no readable audio; check that the file is complete')
  if (taken === 'unknown') throw fieldError(['file'], 'this service reads only uncompressed WAV files; send one')
  return taken
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
