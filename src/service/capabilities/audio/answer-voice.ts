import { requestTimeout } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { VoiceRequest } from '#contract/operations/audio.ts'
import { musicRate, voiceSampleSeconds } from '#engines/sound/bounds.ts'
import type { Recording } from '#engines/sound/sound-type.ts'
import { takeSound } from '#engines/sound/take-sound.ts'
import { boundedWait } from '#host/bounded-wait.ts'
import { admissionFloor } from '#ledger/accounts/admission-floor.ts'
import { type Call, type JsonReply, json, principalOf } from '../../http/call.ts'
import { requireFunds } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import type { SpeechModel } from '../../models/audio-models.ts'
import { readable, uploadedRecording } from './answer-transcription.ts'
import { voiceMs } from './bounds.ts'

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
  const taking = { rate: musicRate, atMostSeconds: Math.max(least, voiceSampleSeconds), signal: call.signal }
  const { recording, seconds } = readable(await takeSound(uploaded, taking))
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
