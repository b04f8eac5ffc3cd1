import { fromUsdNumber, type MicroUsd } from '#contract/money.ts'
import { AudioQueueRequest, quoteAudio, SpeechRequest, TranscriptionRequest } from '#contract/operations/audio.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import { leastSpeechBitsPerSecond, mostSamplesPerSecond, resamplingSeconds } from '../bounds.ts'
import { hasOtherMembers } from './chat-extras.ts'
import { mostOfAsked, shownModel } from './model-records.ts'
import { hasOnly, highestOf, mostOfAnswering, type Pricer, unitsAt } from './priced-call.ts'

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

/** A quote accepts only what a price depends on. */
export const priceMusic: Pricer = async ({ client }, call) => {
  const { model, duration_seconds, prompt } = call as AudioQueueRequest
  const what = `Music by ${shownModel(model)}`
  if (hasOtherMembers(call as object, AudioQueueRequest.shape)) return { what, amountMicroUsd: null }
  const body = { model, duration_seconds, character_count: [...prompt].length }
  const { answer } = await client.call(quoteAudio, { params: undefined, query: undefined, body })
  const quote = fromUsdNumber(answer.quote)
  return { what, amountMicroUsd: quote !== null && quote >= 0n ? quote : null }
}

/** Returns the maximum cost of spoken text: a character is at least one byte, however its service counts. */
function speechBound(
  record: ModelRecord,
  body: Pick<SpeechRequest, 'input'>,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasOtherMembers(body, SpeechRequest.shape)) return null
  return mostOfAnswering(record, records, ({ model_spec: { pricing } }) => {
    const million = hasOnly(pricing, ['input']) ? highestOf([pricing?.input]) : null
    // Rounded up if the price of one is finer than a pico-USD.
    const one = million === null ? null : (million + millionCharacters - 1n) / millionCharacters
    return unitsAt(Buffer.byteLength(body.input), one)
  })
}

const millionCharacters = 1_000_000n

/** Returns the maximum cost of transcribing a recording of at most this many seconds; null if its length is unknown. */
function transcriptionBound(
  record: ModelRecord,
  { body, mostSeconds }: { body: object; mostSeconds: number | null },
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (mostSeconds === null || hasOtherMembers(body, TranscriptionRequest.shape)) return null
  return mostOfAnswering(record, records, ({ model_spec: { pricing } }) =>
    pricing && !('output' in pricing) && hasOnly(pricing, ['per_audio_second'])
      ? unitsAt(mostSeconds, highestOf([pricing.per_audio_second]))
      : null,
  )
}

/**
 * Returns the most seconds that a recording can have by its bytes, rounded up; null if its format can store silence of
 * any length in a few bytes (FLAC, Ogg, MP4, WebM, AAC), or is unknown here. The length of a WAV of plain samples is
 * exact; MP3 has a minimum bit rate.
 */
export function mostSecondsOf(bytes: Uint8Array): number | null {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const seconds = isWav(file) ? wavSeconds(file) : isMp3(file) ? (file.length * 8) / leastSpeechBitsPerSecond : null
  return seconds === null ? null : Math.ceil(seconds) + resamplingSeconds
}

const nameAt = (file: Buffer, at: number): string => file.toString('latin1', at, at + 4)

const isWav = (file: Buffer): boolean => nameAt(file, 0) === 'RIFF' && nameAt(file, 8) === 'WAVE'

/** Frames of a valid layer, after tags, and no frames of other audio: any format may start with a tag. */
function isMp3(file: Buffer): boolean {
  const [first = 0, second = 0] = file.subarray(tagBytes(file))
  return first === 0xff && (second & 0xe0) === 0xe0 && (second & 0x06) !== 0 && !hasOtherFrames(file)
}

const tagHeadBytes = 10
const hasTagEnd = 0x10

/** Length of the tags at the start of the file, which have seven bits per byte. */
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

/**
 * Counts all bytes as samples, including a second block of them. Null if the header contradicts itself, or the samples
 * are coded.
 */
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

/** Returns where the samples begin; the end of the header if nothing marks it. */
function dataAt(file: Buffer): number {
  const at = file.indexOf('data', headerBytes - 8, 'latin1')
  return at < 0 ? headerBytes : at + 8
}

/**
 * Whether claimed samples may be coded audio. Readers of WAV files look for coded audio, and it may be hours long. They
 * recognize it by several frames in a row, or by markers that no ordinary audio has.
 */
const mayBeCoded = (data: Buffer): boolean =>
  marks.some(mark => data.includes(mark)) || hasFrames(data, 0xff, mpegFrameBytes) || hasOtherFrames(data)

/** Whether a file may be coded audio other than MP3: readers of a claimed MP3 go by what most of it contains. */
const hasOtherFrames = (data: Buffer): boolean =>
  hasFrames(data, 0xff, adtsFrameBytes) ||
  hasFrames(data, 0x56, loasFrameBytes) ||
  hasFrames(data, 0x0b, dolbyFrameBytes) ||
  hasFrames(data, 0x77, (bytes, at) => (bytes[at + 1] === 0x0b ? dolbyFrameBytes(swapped(bytes, at), 0) : null))

/** Whether a WAV comes from a dictation machine: a header for samples, silence, a marker, and then coded speech. */
const isDictation = (file: Buffer): boolean =>
  file[dictation.markAt] === dictation.mark &&
  dictation.silent.every(([from, to]) => !file.subarray(from, to).some(Boolean))

const dictation = {
  markAt: 256,
  mark: 0x84,
  silent: [
    [44, 256],
    [264, 512],
  ],
} as const

/** Markers of coded audio for a digital line, of DTS in its four encodings, and of TrueHD and MLP. */
const marks = ['72f81f4e', 'f8724e1f', '7ffe8001', 'fe7f0180', '1fffe800', 'ff1f00e8', 'f8726fba', 'f8726fbb'].map(
  hex => Buffer.from(hex, 'hex'),
)

/** How many frames in a row make readers decide: few at the start of the data, more anywhere else. */
const framesInRow = { first: 3, later: 6 } as const

/** Returns the length of the frame at this offset; null if there is none. */
type FrameBytes = (data: Buffer, at: number) => number | null

function hasFrames(data: Buffer, firstByte: number, frameBytes: FrameBytes): boolean {
  for (let start = data.indexOf(firstByte); start >= 0; start = data.indexOf(firstByte, start + 1)) {
    const wanted = start === 0 ? framesInRow.first : framesInRow.later
    let at = start
    let count = 0
    for (; count < wanted; count++) {
      const bytes = data[at] === firstByte ? frameBytes(data, at) : null
      if (bytes === null) break
      at += bytes
    }
    if (count === wanted) return true
  }
  return false
}

/**
 * Kilobits per second of MPEG-1 and of its half rates, by layer; the first entry is not needed here, and the last is
 * invalid.
 */
const kilobits: Readonly<Record<'whole' | 'half', readonly (readonly number[])[]>> = {
  whole: [
    [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  ],
  half: [
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  ],
}
const rates = [44_100, 48_000, 32_000] as const

function mpegFrameBytes(data: Buffer, at: number): number | null {
  const second = data[at + 1] ?? 0
  const third = data[at + 2] ?? 0
  // Loud 8-bit audio consists of such bytes, so most positions end here.
  if (second < 0xe0 || third >= 0xf0) return null
  const version = (second >> 3) & 3
  const layer = 4 - ((second >> 1) & 3)
  const rate = rates[(third >> 2) & 3]
  const bits = kilobits[version === 3 ? 'whole' : 'half'][layer - 1]?.[third >> 4]
  if (version === 1 || !rate || !bits) return null
  const samples = layer === 1 ? 384 : layer === 3 && version !== 3 ? 576 : 1_152
  const slot = layer === 1 ? 4 : 1
  const slots = Math.floor(
    (samples / 8 / slot) * ((bits * 1_000) / (rate / (version === 3 ? 1 : version === 2 ? 2 : 4))),
  )
  return (slots + ((third >> 1) & 1)) * slot
}

function adtsFrameBytes(data: Buffer, at: number): number | null {
  if (at + 6 > data.length || ((data[at + 1] ?? 0) & 0xf6) !== 0xf0) return null
  const bytes = (data.readUInt32BE(at + 2) >> 5) & 0x1fff
  return bytes < 7 ? null : bytes
}

function loasFrameBytes(data: Buffer, at: number): number | null {
  if (at + 3 > data.length) return null
  const head = data.readUIntBE(at, 3)
  return head >> 13 === 0x2b7 ? (head & 0x1fff) + 3 : null
}

const dolbyKilobits = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640] as const

/** AC-3 encodes its rate; its newer form encodes the frame length in words. */
function dolbyFrameBytes(data: Buffer, at: number): number | null {
  if (at + 6 > data.length || data[at + 1] !== 0x77) return null
  const [third = 0, fourth = 0, fifth = 0, sixth = 0] = data.subarray(at + 2, at + 6)
  if (sixth >> 3 > 10) return (((third & 7) << 8) + fourth + 1) * 2
  const code = fifth & 0x3f
  const bits = dolbyKilobits[code >> 1]
  if (bits === undefined) return null
  if (fifth >> 6 === 0) return bits * 4
  if (fifth >> 6 === 2) return bits * 6
  return fifth >> 6 === 1 ? (Math.floor((bits * 96_000) / 44_100) + (code & 1)) * 2 : null
}

/** Reads the header of a frame whose byte pairs are swapped. */
const swapped = (data: Buffer, at: number): Buffer => {
  const head = Buffer.from(data.subarray(at, at + 6))
  return head.length === 6 ? head.swap16() : head
}
