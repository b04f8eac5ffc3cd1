import { fromUsdNumber, type MicroUsd } from '#contract/money.ts'
import { AudioQueueRequest, quoteAudio, SpeechRequest, TranscriptionRequest } from '#contract/operations/audio.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import { leastSpeechBitsPerSecond, mostSamplesPerSecond, resamplingSeconds } from '../bounds.ts'
import { mostOfAsked, shownModel } from './asked-models.ts'
import { hasOtherMembers } from './chat-extras.ts'
import { hasOtherFrames, isDictation, mayBeCoded } from './coded-audio.ts'
import { dearestOf, hasOnly, mostOfAnswering, type Pricer, unitsAt } from './priced-call.ts'

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

/** The most that a spoken text can cost: a character is a byte at least, however its service counts them. */
function speechBound(
  record: ModelRecord,
  body: Pick<SpeechRequest, 'input'>,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasOtherMembers(body, SpeechRequest.shape)) return null
  return mostOfAnswering(record, records, ({ model_spec: { pricing } }) => {
    const million = hasOnly(pricing, ['input']) ? dearestOf([pricing?.input]) : null
    // Rounded up where the price of one is finer than a pico-USD.
    const one = million === null ? null : (million + millionCharacters - 1n) / millionCharacters
    return unitsAt(Buffer.byteLength(body.input), one)
  })
}

const millionCharacters = 1_000_000n

/** The most that a recording of at most so many seconds can cost to be written down; null where nobody can say how long it is. */
function transcriptionBound(
  record: ModelRecord,
  { body, mostSeconds }: { body: object; mostSeconds: number | null },
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (mostSeconds === null || hasOtherMembers(body, TranscriptionRequest.shape)) return null
  return mostOfAnswering(record, records, ({ model_spec: { pricing } }) =>
    pricing && !('output' in pricing) && hasOnly(pricing, ['per_audio_second'])
      ? unitsAt(mostSeconds, dearestOf([pricing.per_audio_second]))
      : null,
  )
}

/**
 * The most seconds that a recording can have by its bytes, begun ones whole; null where its format can hold silence of any
 * length in a few bytes (FLAC, Ogg, MP4, WebM, AAC), or where it is no format that is known here. A WAV of plain samples
 * is as long as they are; MP3 has a lowest bit rate.
 */
export function mostSecondsOf(bytes: Uint8Array): number | null {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const seconds = isWav(file) ? wavSeconds(file) : isMp3(file) ? (file.length * 8) / leastSpeechBitsPerSecond : null
  return seconds === null ? null : Math.ceil(seconds) + resamplingSeconds
}

const nameAt = (file: Buffer, at: number): string => file.toString('latin1', at, at + 4)

const isWav = (file: Buffer): boolean => nameAt(file, 0) === 'RIFF' && nameAt(file, 8) === 'WAVE'

/** Frames of a layer that there is, after tags, and none of other sound: a tag may stand before any. */
function isMp3(file: Buffer): boolean {
  const [first = 0, second = 0] = file.subarray(tagBytes(file))
  return first === 0xff && (second & 0xe0) === 0xe0 && (second & 0x06) !== 0 && !hasOtherFrames(file)
}

const tagHeadBytes = 10
const hasTagEnd = 0x10

/** Of the tags that the file begins with, whose lengths have seven bits a byte. */
function tagBytes(file: Buffer): number {
  let at = 0
  while (file.toString('latin1', at, at + 3) === 'ID3') {
    const [flags = 0, ...size] = file.subarray(at + 5, at + tagHeadBytes)
    at +=
      tagHeadBytes + size.reduce((sum, byte) => sum * 128 + (byte & 0x7f), 0) + (flags & hasTagEnd ? tagHeadBytes : 0)
  }
  return at
}

const format = { at: 12, leastBytes: 16, integers: 1, floats: 3 } as const
const headerBytes = 44

/** All bytes count as samples, so that no second run of them is forgotten. Null where the header contradicts itself, or the samples are coded. */
function wavSeconds(file: Buffer): number | null {
  if (file.length < headerBytes || nameAt(file, format.at) !== 'fmt ') return null
  if (file.readUInt32LE(format.at + 4) < format.leastBytes) return null
  const tag = file.readUInt16LE(20)
  const channels = file.readUInt16LE(22)
  const rate = file.readUInt32LE(24)
  const bits = file.readUInt16LE(34)
  const isPlain = tag === format.integers ? [8, 16, 24, 32].includes(bits) : tag === format.floats && bits === 32
  const frameBytes = (channels * bits) / 8
  if (!isPlain || channels === 0 || rate === 0 || rate > mostSamplesPerSecond) return null
  if (file.readUInt16LE(32) !== frameBytes || file.readUInt32LE(28) !== rate * frameBytes) return null
  if (isDictation(file)) return null
  if (tag === format.integers && mayBeCoded(file.subarray(dataAt(file)))) return null
  return file.length / (rate * frameBytes)
}

/** Where the samples begin; the end of the header where no mark says it. */
function dataAt(file: Buffer): number {
  const at = file.indexOf('data', headerBytes - 8, 'latin1')
  return at < 0 ? headerBytes : at + 8
}
