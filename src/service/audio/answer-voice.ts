import type { VoiceRequest } from '#contract/speech.ts'
import { boundedWait } from '../bounded-wait.ts'
import { type Call, type JsonReply, json, principalOf } from '../call.ts'
import type { SpeechModel } from '../models/audio-models.ts'
import { fieldError } from '../models/field-error.ts'
import type { Service } from '../service.ts'
import { uploadedRecording } from './answer-transcription.ts'
import { soundLength } from './sound-seconds.ts'

/** A voice of a recording, for a model whose engine can make one (published contract §8.3). */
export async function answerVoice(call: Call, body: VoiceRequest, service: Service): Promise<JsonReply> {
  const model = service.catalogue.speech(body.model)
  const { voiceCloning, engine, engineModel } = model
  if (!voiceCloning || !engine.cloneVoice) throw fieldError(['model'], cannotClone(model, service))
  const sample = await uploadedRecording(body.file)
  if (!voiceCloning.acceptedFormats.includes(sample.type)) {
    throw fieldError(['file'], `is ${sample.type}; ${model.id} takes ${voiceCloning.acceptedFormats.join(', ')}`)
  }
  const length = await soundLength(sample, call.signal)
  if (length === 'broken') throw fieldError(['file'], 'has no sound that can be read; is it whole?')
  const least = voiceCloning.minimumSampleSeconds
  if (length !== 'unknown' && length.seconds < least) {
    throw fieldError(['file'], `is ${length.seconds.toFixed(1)} s long; ${model.id} needs ${least} s at least`)
  }
  const { signal } = call
  const voice = await boundedWait(engine.cloneVoice({ sample, engineModel, signal }), { signal })
  return json({
    id: service.voices.write(voice, { account: principalOf(call).account, model: model.id }),
    model: model.id,
  })
}

function cannotClone({ id }: SpeechModel, { catalogue }: Service): string {
  const able = catalogue.models.filter(model => model.type === 'tts' && model.voiceCloning).map(model => model.id)
  const others = able.length ? `allowed values: ${able.join(', ')}` : 'no model of this service does'
  return `${id} makes no voices of recordings; ${others}`
}
