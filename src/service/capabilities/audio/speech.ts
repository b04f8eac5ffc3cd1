import { invalidRequest } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { type SpeechFormat, type SpeechRequest, speechTypes } from '#contract/operations/audio.ts'
import type { SpokenText } from '#engines/ports/media-engines.ts'
import { type BytesReply, type Call, type PiecesReply, principalOf } from '../../http/call.ts'
import { sell } from '../../http/sell.ts'
import type { Service, Voices } from '../../http/service.ts'
import { requireCarried } from '../../models/carried-choices.ts'
import type { SpeechModel } from '../../models/model.ts'
import { charactersOf, speechLines, speechPrice } from './price-audio.ts'
import { type Speech, spoken, streamSpeech } from './stream-speech.ts'

/** All of the text in one answer, or sentence by sentence. What is kept for a key is always whole. */
export async function answerSpeech(
  call: Call,
  body: SpeechRequest,
  service: Service,
): Promise<BytesReply | PiecesReply> {
  const model = service.catalogue.speech(body.model)
  const formats = (await model.engine.formats?.()) ?? model.formats
  const { account } = principalOf(call)
  const request = spokenText(body, { model, account, formats, voices: service.voices })
  const speech = { model, request }
  return body.streaming && !call.hasKey ? streamSpeech(call, speech, service) : wholeSpeech(call, speech, service)
}

async function wholeSpeech(call: Call, speech: Speech, service: Service): Promise<BytesReply> {
  const { model, request } = speech
  const characters = charactersOf(request.text)
  return sell(call, { model: model.id, amount: speechPrice(model, characters) }, service, async () => {
    const bytes = await spoken(speech, call.signal)
    call.signal.throwIfAborted()
    const reply: BytesReply = { kind: 'bytes', mimeType: speechTypes[request.format], bytes }
    return { value: reply, lines: speechLines(model, characters), alsoCommit: () => call.keep(() => reply) }
  })
}

interface SpeechSettings {
  model: SpeechModel
  account: string
  /** Those that the engine can make here and now. */
  formats: readonly SpeechFormat[]
  voices: Voices
}

/** What the engine is asked for. Throws `invalidRequest` with the allowed values. */
function spokenText(request: SpeechRequest, settings: SpeechSettings): SpokenText {
  const { model } = settings
  const { input: text, speed, language, prompt, temperature, top_p: topP } = request
  if (speed !== 1 && !model.hasSpeed) throw notTaken(model, 'speed')
  if (prompt && !model.hasStyle) throw notTaken(model, 'prompt')
  if (language !== undefined) checkLanguage(model, language)
  requireCarried(model, { language })
  for (const [field, value] of Object.entries({ temperature, top_p: topP })) {
    if (value !== undefined && !model.hasSampling) throw notTaken(model, field)
  }
  return {
    ...{ text, speed, voice: voiceOf(request.voice, settings), format: formatOf(request, settings) },
    ...(language === undefined ? {} : { language }),
    ...(prompt ? { style: prompt } : {}),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
  }
}

/** The published sentence of a voice that a model does not have. */
function voiceOf(asked: string | undefined, { model, account, voices }: SpeechSettings): string {
  if (asked === undefined) return model.voices[0]
  if (model.voices.includes(asked)) return asked
  const cloned = asked.startsWith('vv_') ? voices.read(asked, { account, model: model.id }) : null
  if (cloned !== null) return cloned
  const shown = JSON.stringify(asked.slice(0, 64))
  throw invalidRequest({
    error: `Voice ${shown} is not supported by model "${model.id}". Try using a supported voice: ${model.voices.join(', ')}`,
  })
}

/** The formats whose parts, one after the other, are a file again. */
const streamable: ReadonlySet<SpeechFormat> = new Set(['mp3', 'opus', 'aac', 'wav', 'pcm'])

function formatOf(request: SpeechRequest, { model, formats }: SpeechSettings): SpeechFormat {
  const made = model.formats.filter(format => formats.includes(format))
  const allowed = request.streaming ? made.filter(format => streamable.has(format)) : made
  const asked = request.response_format ?? (allowed.includes('mp3') ? 'mp3' : allowed[0])
  if (asked && allowed.includes(asked)) return asked
  const how = request.streaming ? ' sentence by sentence' : ''
  throw fieldError(
    ['response_format'],
    `${model.id} makes no ${request.response_format ?? 'sound'}${how} here; allowed values: ${allowed.join(', ')}`,
  )
}

function checkLanguage(model: SpeechModel, language: string): void {
  const { languages } = model
  if (!languages || languages.includes(language)) return
  if (languages.length === 0) throw notTaken(model, 'language')
  throw fieldError(['language'], `is none of ${model.id}; allowed values: ${languages.join(', ')}`)
}

const notTaken = (model: SpeechModel, field: string) =>
  fieldError([field], `${model.id} does not take ${field}; leave it out`)
