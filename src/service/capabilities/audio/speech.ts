import { inferenceFailed, invalidRequest } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { addUsd, type MicroUsd, picoPerMicro, priceLines } from '#contract/money.ts'
import { type SpeechFormat, type SpeechRequest, speechTypes } from '#contract/operations/audio.ts'
import { headBytes, type SniffedType, sniffType } from '#contract/wire/media-type.ts'
import { pcmRate } from '#engines/audio/audio-codec.ts'
import { speechBytes, wavHeader } from '#engines/audio/recording.ts'
import type { SpokenText } from '#engines/ports/media-engines.ts'
import { boundedWait } from '#host/async.ts'
import type { Charge } from '#ledger/charges/charge.ts'
import { type Metered, streamWithCharge } from '#ledger/charges/charges.ts'
import type { Line } from '#ledger/store/units.ts'
import { type BytesReply, type Call, type PiecesReply, principalOf, workAfterLeavingMs } from '../../http/route.ts'
import { requireFunds, sell, tellRemaining } from '../../http/sell.ts'
import type { Service, Voices } from '../../http/service.ts'
import { requireCarried } from '../../models/check-model.ts'
import type { MusicModel, SpeechModel, TranscriptionModel } from '../../models/model.ts'

/** Speaks the text in one answer, or sentence by sentence. An answer that is kept for a key is always complete. */
export async function answerSpeech(
  call: Call,
  body: SpeechRequest,
  service: Service,
): Promise<BytesReply | PiecesReply> {
  const model = service.catalogue.find('tts', body.model)
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
  /** The formats that the engine can make on this machine now. */
  formats: readonly SpeechFormat[]
  voices: Voices
}

/** Returns the request for the engine. Throws `invalidRequest` with the allowed values. */
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

/** The published sentence for a voice that a model does not have. */
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

/** Formats whose parts, concatenated, are a valid file. */
const streamable: ReadonlySet<SpeechFormat> = new Set(['mp3', 'opus', 'aac', 'wav', 'pcm'])

function formatOf(request: SpeechRequest, { model, formats }: SpeechSettings): SpeechFormat {
  const made = model.formats.filter(format => formats.includes(format))
  const allowed = request.streaming ? made.filter(format => streamable.has(format)) : made
  const asked = request.response_format ?? (allowed.includes('mp3') ? 'mp3' : allowed[0])
  if (asked && allowed.includes(asked)) return asked
  const how = request.streaming ? ' sentence by sentence' : ''
  throw fieldError(
    ['response_format'],
    `${model.id} cannot return ${request.response_format ?? 'audio'}${how} here; allowed values: ${allowed.join(', ')}`,
  )
}

function checkLanguage(model: SpeechModel, language: string): void {
  const { languages } = model
  if (!languages || languages.includes(language)) return
  if (languages.length === 0) throw notTaken(model, 'language')
  throw fieldError(['language'], `is not supported by ${model.id}; allowed values: ${languages.join(', ')}`)
}

const notTaken = (model: SpeechModel, field: string) =>
  fieldError([field], `${model.id} does not support ${field}; leave it out`)

/**
 * Streams each sentence as soon as it is spoken. The price of the whole text is held, and the spoken sentences are
 * charged. If the caller leaves, the current sentence is spoken to its end and charged, like a whole answer.
 */
async function streamSpeech(call: Call, speech: Speech, service: Service): Promise<PiecesReply> {
  const { model, request } = speech
  const amount = speechPrice(model, charactersOf(request.text))
  await requireFunds(call, amount)
  const { requestId, holdId, signal } = call
  const order = { request: requestId, holdId, principal: principalOf(call), model: model.id, amount }
  const { charge, events } = await streamWithCharge(service.charges, order, signal, open => {
    open.whenEnded(call.stay())
    return metered(call, speech, open)
  })
  // If the engine fails before its first sentence, the answer is an error status.
  const first = await events.next()
  tellRemaining(call, charge.heldAvailableMicroUsd)
  return { kind: 'pieces', mimeType: speechTypes[request.format], pieces: after(first, events) }
}

function metered(call: Call, speech: Speech, charge: Charge): Metered<Buffer> {
  const stop = new AbortController()
  let characters = 0
  let late: NodeJS.Timeout | null = null
  charge.whenEnded(() => late && clearTimeout(late))
  return {
    events: sentences(speech, stop.signal, count => {
      characters += count
    }),
    owed: () => (characters ? speechLines(speech.model, characters) : []),
    leave() {
      call.unread()
      late ??= setTimeout(() => stop.abort(), workAfterLeavingMs).unref()
    },
  }
}

async function* sentences({ model, request }: Speech, signal: AbortSignal, sold: (characters: number) => void) {
  // Parts of a WAV are its samples; the header is sent once.
  const format: SpeechFormat = request.format === 'wav' ? 'pcm' : request.format
  let before = request.format === 'wav' ? wavHeader(pcmRate) : Buffer.alloc(0)
  for (const text of sentencesOf(request.text)) {
    signal.throwIfAborted()
    const bytes = await spoken({ model, request: { ...request, text, format } }, signal)
    sold(charactersOf(text))
    yield Buffer.concat([before, bytes])
    before = Buffer.alloc(0)
  }
}

/** Not a generator: a generator that was never started would not end the charge when its reader leaves. */
function after(first: IteratorResult<Buffer>, rest: AsyncIterableIterator<Buffer>): AsyncIterableIterator<Buffer> {
  let step: IteratorResult<Buffer> | null = first
  return {
    async next() {
      const now = step
      step = null
      return now ?? rest.next()
    },
    async return() {
      await rest.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** A text to speak, and its settings. */
interface Speech {
  model: SpeechModel
  request: SpokenText
}

/** Returns the audio of a text. Throws the engine's error, and `inferenceFailed` for audio that cannot be sold. */
async function spoken({ model, request }: Speech, signal: AbortSignal): Promise<Buffer> {
  const { engine, engineModel } = model
  const bytes = await boundedWait(engine.speak({ request, engineModel, signal }), { signal })
  if (bytes.length === 0 || bytes.length > speechBytes || isOfAnother(request.format, bytes)) throw inferenceFailed()
  return bytes
}

/** Formats that are known by their first bytes. Samples without a header may look like a frame of an MP3. */
const known: Partial<Record<SniffedType, SpeechFormat>> = {
  'audio/wav': 'wav',
  'audio/ogg': 'opus',
  'audio/flac': 'flac',
  'audio/mpeg': 'mp3',
}

/** Some servers return the one format that they can make, whatever is requested. */
function isOfAnother(format: SpeechFormat, bytes: Buffer): boolean {
  const type = sniffType(bytes.subarray(0, headBytes))
  const made = type === null || (format === 'pcm' && type === 'audio/mpeg') ? undefined : known[type]
  return made !== undefined && made !== format
}

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })

/**
 * Splits a text into the pieces that are spoken one by one. A piece without a letter or digit is joined to the previous
 * one.
 */
function sentencesOf(text: string): string[] {
  const sentences: string[] = []
  for (const { segment } of segmenter.segment(text)) {
    const last = sentences.length - 1
    if (last >= 0 && !/[\p{L}\p{N}]/u.test(segment)) sentences[last] += segment
    else sentences.push(segment)
  }
  return sentences
}

/** Counts code points, as people count characters, instead of JavaScript's UTF-16 units. */
export const charactersOf = (text: string): number => [...text].length

/** One line for all characters; the hold is the same amount. */
const speechLines = ({ price }: Pick<SpeechModel, 'price'>, characters: number): Line[] =>
  lineOf('speech.character', characters, price.perCharacterPicoUsd)

const speechPrice = (model: Pick<SpeechModel, 'price'>, characters: number): MicroUsd =>
  addUsd(...speechLines(model, characters).map(({ amount }) => amount))

/** One line for the started seconds. */
export const transcriptionLines = ({ price }: Pick<TranscriptionModel, 'price'>, seconds: number): Line[] =>
  lineOf('transcription.second', Math.max(1, Math.ceil(seconds)), price.perSecondPicoUsd)

export const transcriptionPrice = (model: Pick<TranscriptionModel, 'price'>, seconds: number): MicroUsd =>
  addUsd(...transcriptionLines(model, seconds).map(({ amount }) => amount))

function lineOf(sku: string, count: number, unitPricePicoUsd: bigint): Line[] {
  const line = { sku, units: BigInt(count), unitPricePicoUsd }
  return priceLines([line]).map(amount => ({ ...line, amount }))
}

/** Everything that the price may depend on. */
interface MusicSize {
  seconds: number | undefined
  characters: number | undefined
}

/** Prices a piece of music, for the quote and for the charge. Throws `invalidRequest` if a needed size is missing. */
export function quoteMusic(model: MusicModel, size: MusicSize): { total: MicroUsd; lines: Line[] } {
  const line = pricedUnit(model, size)
  const lines = priceLines([line]).map(amount => ({ ...line, amount }))
  return { total: addUsd(...lines.map(({ amount }) => amount)), lines }
}

function pricedUnit({ id, price, durations }: MusicModel, { seconds, characters }: MusicSize) {
  const picoUsd = price.microUsd * picoPerMicro
  switch (price.per) {
    case 'generation':
      return { sku: 'music.generation', units: 1n, unitPricePicoUsd: picoUsd }
    case 'second':
      return { sku: 'music.second', units: BigInt(seconds ?? durations.default), unitPricePicoUsd: picoUsd }
    case 'thousand-characters':
      if (characters === undefined)
        throw fieldError(['character_count'], `${id} is priced by the characters of its prompt`)
      return { sku: 'music.character', units: BigInt(characters), unitPricePicoUsd: picoUsd / 1_000n }
  }
}
