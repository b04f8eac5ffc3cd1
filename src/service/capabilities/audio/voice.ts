import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { requestTimeout } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { VoiceRequest } from '#contract/operations/audio.ts'
import type { Clock } from '#contract/time.ts'
import { takeRecording } from '#engines/audio/audio-codec.ts'
import { musicRate, type Recording, voiceSampleSeconds } from '#engines/audio/recording.ts'
import { boundedWait } from '#host/async.ts'
import { admissionFloor } from '#ledger/bounds.ts'
import { type Call, type JsonReply, json, principalOf } from '../../http/route.ts'
import { requireFunds } from '../../http/sell.ts'
import type { Service, VoiceOwner } from '../../http/service.ts'
import { type SpeechModel, voiceRetentionMs } from '../../models/model.ts'
import { readable, uploadedRecording } from './transcription.ts'

/** How long an engine may take to make a voice of a recording. */
export const voiceMs = 300_000

/** A voice of a recording, for a model whose engine can make one (published contract §8.3). */
export async function answerVoice(call: Call, body: VoiceRequest, service: Service): Promise<JsonReply> {
  const model = service.catalogue.speech(body.model)
  const { voiceCloning, engine } = model
  if (!voiceCloning || !engine.cloneVoice) throw fieldError(['model'], cannotClone(model, service))
  const uploaded = await uploadedRecording(body.file)
  if (!voiceCloning.acceptedFormats.includes(uploaded.type)) {
    throw fieldError(['file'], `is ${uploaded.type}; ${model.id} takes ${voiceCloning.acceptedFormats.join(', ')}`)
  }
  // The engine may have its price: this is free only for those who could pay for what they then speak with it.
  await requireFunds(call, admissionFloor)
  const least = voiceCloning.minimumSampleSeconds
  const taking = {
    ...{ rate: musicRate, atMostSeconds: Math.max(least, voiceSampleSeconds), isCut: true },
    signal: call.signal,
  }
  const { recording, seconds } = readable(await takeRecording(uploaded, taking))
  if (seconds < least) {
    throw fieldError(['file'], `is ${seconds.toFixed(1)} s long; ${model.id} needs ${least} s at least`)
  }
  const voice = await cloned(model, recording, call.signal)
  return json({
    id: service.voices.write(voice, { account: principalOf(call).account, model: model.id }),
    model: model.id,
  })
}

/** Throws `requestTimeout` where the engine takes too long. */
async function cloned(
  { engine, engineModel, id }: SpeechModel,
  sample: Recording,
  caller: AbortSignal,
): Promise<string> {
  const late = AbortSignal.timeout(voiceMs)
  const signal = AbortSignal.any([caller, late])
  try {
    if (!engine.cloneVoice) throw new Error(`The engine of ${id} makes no voices.`)
    return await boundedWait(engine.cloneVoice({ sample, engineModel, signal }), { signal })
  } catch (error) {
    throw late.aborted && !caller.aborted ? requestTimeout() : error
  }
}

function cannotClone({ id }: SpeechModel, { catalogue }: Service): string {
  const able = catalogue.models.filter(model => model.type === 'tts' && model.voiceCloning).map(model => model.id)
  const others = able.length ? `allowed values: ${able.join(', ')}` : 'no model of this service does'
  return `${id} makes no voices of recordings; ${others}`
}

const Handle = z.strictObject({ voice: z.string(), expiresAtMs: z.number() })

/** Of a SHA-256 in base64url. */
const signatureCharacters = 43

/**
 * Ids of voices that were made of recordings: what the engine calls them and until when, signed for their owner. Nothing
 * is stored, so a handle outlives a restart and a change of books.
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

  /** The engine's name of a voice; null for a handle of somebody else, of another model, or from more than seven days ago. */
  read(id: string, owner: VoiceOwner): string | null {
    const said = id.slice('vv_'.length, -signatureCharacters)
    // As text: the last character has bits that decode to nothing, and there is one spelling.
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
