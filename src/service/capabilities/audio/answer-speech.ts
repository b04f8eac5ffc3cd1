import { type SpeechRequest, speechTypes } from '#contract/operations/audio.ts'
import { type BytesReply, type Call, type PiecesReply, principalOf } from '../../http/call.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { spokenText } from './check-speech.ts'
import { charactersOf, speechLines, speechPrice } from './price-audio.ts'
import { type Speech, spoken } from './spoken.ts'
import { streamSpeech } from './stream-speech.ts'

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
