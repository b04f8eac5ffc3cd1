import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { payloadTooLarge, requestTimeout } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { uploadBytes } from '#contract/limits.ts'
import type { Transcription, TranscriptionRequest, VoiceRequest } from '#contract/operations/audio.ts'
import type { Clock } from '#contract/time.ts'
import { type TakenRecording, takeLongRecording, takeRecording } from '#engines/audio/audio-codec.ts'
import {
  audioTypeNames,
  musicRate,
  type Recording,
  recordingOf,
  spokenRate,
  voiceSampleSeconds,
} from '#engines/audio/recording.ts'
import type { TranscribedSpeech } from '#engines/ports/media-engines.ts'
import { boundedWait } from '#host/async.ts'
import { admissionFloor } from '#ledger/bounds.ts'
import { type Call, type JsonReply, json, principalOf, type WholeReply } from '../../http/route.ts'
import { requireFunds, sell } from '../../http/sell.ts'
import type { Service, VoiceOwner } from '../../http/service.ts'
import { requireCarried } from '../../models/check-model.ts'
import { type SpeechModel, type TranscriptionModel, voiceRetentionMs } from '../../models/model.ts'
import { transcriptionLines, transcriptionPrice } from './speech.ts'

/**
 * Transcribes a recording, charged by started seconds. The engine gets the measured samples, never the caller's file.
 */
export async function answerTranscription(
  call: Call,
  body: TranscriptionRequest,
  service: Service,
): Promise<WholeReply> {
  const model = service.catalogue.find('asr', body.model)
  if (body.timestamps && !model.hasTimestamps) {
    throw fieldError(['timestamps'], `${model.id} does not support timestamps; leave it out`)
  }
  requireCarried(model, { language: body.language })
  const uploaded = await uploadedRecording(body.file)
  // Measuring runs a subprocess, so it is only for callers who can pay for the first second.
  await requireFunds(call, transcriptionPrice(model, 1))
  const taking = { rate: spokenRate, atMostSeconds: model.longestSeconds, signal: call.signal }
  const { recording, seconds } = readable(await takeLongRecording(uploaded, taking))
  if (seconds > model.longestSeconds) {
    throw fieldError(['file'], `is too long; ${model.id} accepts ${model.longestSeconds} s at most`)
  }
  return sell(call, { model: model.id, amount: transcriptionPrice(model, seconds) }, service, async () => {
    const said = await transcribed(model, { recording, body, signal: call.signal })
    call.signal.throwIfAborted()
    const reply = replyOf(body, said, seconds)
    return { value: reply, lines: transcriptionLines(model, seconds), alsoCommit: () => call.keep(() => reply) }
  })
}

/** Reads an upload that is audio. Throws a 413 if it is too large, a 400 if it is of another kind. */
async function uploadedRecording(file: File): Promise<Recording> {
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

/** Throws `invalidRequest` for a recording that could not be read. */
function readable(taken: TakenRecording | 'broken' | 'unknown'): TakenRecording {
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

/** How long an engine may take to clone a voice from a recording. */
export const voiceMs = 300_000

/** Clones a voice from a recording, for a model whose engine supports it (published contract §8.3). */
export async function answerVoice(call: Call, body: VoiceRequest, service: Service): Promise<JsonReply> {
  const model = service.catalogue.find('tts', body.model)
  const { voiceCloning, engine } = model
  if (!voiceCloning || !engine.cloneVoice) throw fieldError(['model'], cannotClone(model, service))
  const uploaded = await uploadedRecording(body.file)
  if (!voiceCloning.acceptedFormats.includes(uploaded.type)) {
    throw fieldError(['file'], `is ${uploaded.type}; ${model.id} accepts ${voiceCloning.acceptedFormats.join(', ')}`)
  }
  // The engine may charge for this, so it is free only for callers who could pay for speech with the voice.
  await requireFunds(call, admissionFloor)
  const least = voiceCloning.minimumSampleSeconds
  const taking = {
    ...{ rate: musicRate, atMostSeconds: Math.max(least, voiceSampleSeconds), isCut: true },
    signal: call.signal,
  }
  const { recording, seconds } = readable(await takeRecording(uploaded, taking))
  if (seconds < least) {
    throw fieldError(['file'], `is ${seconds.toFixed(1)} s long; ${model.id} needs at least ${least} s`)
  }
  const voice = await cloned(model, recording, call.signal)
  return json({
    id: service.voices.write(voice, { account: principalOf(call).account, model: model.id }),
    model: model.id,
  })
}

/** Throws `requestTimeout` if the engine takes too long. */
async function cloned(
  { engine, engineModel, id }: SpeechModel,
  sample: Recording,
  caller: AbortSignal,
): Promise<string> {
  const late = AbortSignal.timeout(voiceMs)
  const signal = AbortSignal.any([caller, late])
  try {
    if (!engine.cloneVoice) throw new Error(`The engine of ${id} cannot create voices.`)
    return await boundedWait(engine.cloneVoice({ sample, engineModel, signal }), { signal })
  } catch (error) {
    throw late.aborted && !caller.aborted ? requestTimeout() : error
  }
}

function cannotClone({ id }: SpeechModel, { catalogue }: Service): string {
  const able = catalogue.models.filter(model => model.type === 'tts' && model.voiceCloning).map(model => model.id)
  const others = able.length ? `allowed values: ${able.join(', ')}` : 'no model of this service can'
  return `${id} cannot create voices from recordings; ${others}`
}

const Handle = z.strictObject({ voice: z.string(), expiresAtMs: z.number() })

/** Length of a SHA-256 in base64url. */
const signatureCharacters = 43

/**
 * Ids of cloned voices: the engine's name and an expiry time, signed for their owner. Nothing is stored, so an id
 * survives a restart and a change of ledger.
 */
export class VoiceHandles {
  readonly #clock: Clock
  readonly #secrets: readonly string[]

  /** The first secret signs; the others are accepted while a secret is being replaced. */
  constructor(clock: Clock, secrets: readonly string[]) {
    this.#clock = clock
    this.#secrets = secrets
  }

  write(voice: string, owner: VoiceOwner): string {
    const [secret = ''] = this.#secrets
    const handle = { voice, expiresAtMs: this.#clock.now() + voiceRetentionMs }
    const said = Buffer.from(JSON.stringify(handle)).toString('base64url')
    return `vv_${said}${signature(said, owner, secret)}`
  }

  /**
   * Returns the engine's name of a voice; null if the id belongs to another owner or model, or is older than seven
   * days.
   */
  read(id: string, owner: VoiceOwner): string | null {
    const said = id.slice('vv_'.length, -signatureCharacters)
    // Compared as text: the last character has unused bits, so several spellings would decode to the same bytes.
    const given = Buffer.from(id.slice(-signatureCharacters))
    const isSigned = this.#secrets.some(secret => {
      const expected = Buffer.from(signature(said, owner, secret))
      return expected.length === given.length && timingSafeEqual(expected, given)
    })
    if (!isSigned) return null
    const handle = Handle.parse(JSON.parse(Buffer.from(said, 'base64url').toString('utf8')))
    return handle.expiresAtMs > this.#clock.now() ? handle.voice : null
  }
}

const signature = (said: string, { account, model }: VoiceOwner, secret: string): string =>
  createHmac('sha256', secret)
    .update(JSON.stringify(['voice', account, model, said]))
    .digest('base64url')
