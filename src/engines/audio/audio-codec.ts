import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type SpeechFormat, speechFormats } from '#contract/operations/audio.ts'
import { inFolder } from '#host/files.ts'
import { audioEncoders } from '#host/media/ffmpeg.ts'
import type { AudioTrack, Conversion, Options } from '#host/media/tasks.ts'
import type { Claims } from '#host/media/whole/check-whole.ts'
import { Ffmpeg, isUnreadable } from '../ffmpeg/ffmpeg.ts'
import {
  type AudioType,
  audioTaskMs,
  audioTasksAtOnce,
  audioTasksWaiting,
  decodedBytes,
  decodedSamples,
  longRecordingBytes,
  type PcmAudio,
  pcmOf,
  plainAudio,
  probeRate,
  type Recording,
  resampled,
  speechBytes,
  wavOf,
  wavSeconds,
} from './recording.ts'

let opened: Ffmpeg | null = null

/** FFmpeg for audio: one line for the whole process, because its processors are one. */
function audioFfmpeg(): Ffmpeg {
  opened ??= new Ffmpeg({ atOnce: audioTasksAtOnce, waiting: audioTasksWaiting, timeoutMs: audioTaskMs })
  return opened
}

/** The reader of each type is named, so that no content is taken for a playlist or a script. */
const audioReaders: Record<AudioType, string> = {
  wav: 'wav',
  mp3: 'mp3',
  flac: 'flac',
  ogg: 'ogg',
  mp4: 'mov',
  webm: 'matroska',
  aac: 'aac',
}

/** What comes out: samples of 16 bits as they are or as a WAV, their number alone, or an MP3. */
const outputs = {
  pcm: { format: 's16le', encoder: 'pcm_s16le' },
  wav: { format: 'wav', encoder: 'pcm_s16le' },
  count: { format: 'null', encoder: 'pcm_s16le' },
  mp3: { format: 'mp3', encoder: 'libmp3lame' },
} as const

interface Decoding {
  /** Samples a second. */
  rate: number
  channels?: AudioTrack['channels']
  /** Nothing beyond is decoded: a small file may have any length. One whose header says more is not decoded at all. */
  atMostSeconds: number
  /** Whether a longer file is decoded up to there all the same. */
  isCut?: boolean
  to: keyof typeof outputs
  options?: Options
  signal: AbortSignal
}

interface DecodedAudio {
  /** Of one channel. */
  samples: number
  /** Empty where they were only counted, and where the file is longer than it may be by its own words. */
  bytes: Buffer
}

/**
 * The first track of a recording that is whole, decoded by FFmpeg; `unknown` where there is none. Throws `modelOverloaded`
 * where too many wait, and `requestTimeout` where it takes too long.
 */
export async function decodeAudio(
  recording: Recording,
  decoding: Decoding,
): Promise<DecodedAudio | 'broken' | 'unknown'> {
  const ffmpeg = audioFfmpeg()
  if (!(await ffmpeg.isInstalled())) return 'unknown'
  const { to, signal, isCut, atMostSeconds } = decoding
  try {
    // The file lies on the disk once it has its turn.
    const work = ffmpeg.turn(
      run =>
        inFolder('audio', async folder => {
          const [path, decoded] = [join(folder, 'audio'), join(folder, 'decoded')]
          await writeFile(path, recording.bytes, { mode: 0o600 })
          const claims = await run('whole', { path, format: recording.type })
          const longer = isCut ? null : longerThanTaken(claims, decoding)
          if (longer) return longer
          if ((claims.samples ?? 0) > decodedSamples(atMostSeconds) && !isCut) return 'broken'
          const { samples } = await run('convert', conversionOf(path, decoded, recording.type, decoding))
          return { samples, bytes: to === 'count' ? Buffer.alloc(0) : await readFile(decoded) }
        }),
      signal,
    )
    return await work
  } catch (error) {
    if (isUnreadable(error)) return 'broken'
    throw error
  }
}

/** Null for what may be decoded. */
function longerThanTaken({ seconds }: Claims, { atMostSeconds, rate }: Decoding): DecodedAudio | null {
  if (seconds === null || seconds <= atMostSeconds) return null
  return { samples: Math.ceil(seconds * rate), bytes: Buffer.alloc(0) }
}

function conversionOf(path: string, decoded: string, type: AudioType, decoding: Decoding): Conversion {
  const { rate, channels = 1, atMostSeconds, to, options = {} } = decoding
  const { format, encoder } = outputs[to]
  const mostBytes = to === 'count' ? Number.POSITIVE_INFINITY : decodedBytes
  return {
    inputs: [{ path, reader: audioReaders[type] }],
    tracks: [
      { ...{ kind: 'audio', reads: [0], graph: `[in0]atrim=end=${atMostSeconds}` }, encoder, options, rate, channels },
    ],
    to: { path: decoded, format, mostBytes },
    maxPixels: 1,
    maxSamples: decodedSamples(atMostSeconds),
  }
}

/** Whether a file has the end that its type has; FFmpeg is not needed for it. Throws as `decodeAudio` does. */
export async function isWhole({ bytes, type }: Recording, signal: AbortSignal): Promise<boolean> {
  try {
    await audioFfmpeg().turn(
      run =>
        inFolder('audio', async folder => {
          const path = join(folder, 'audio')
          await writeFile(path, bytes, { mode: 0o600 })
          await run('whole', { path, format: type })
        }),
      signal,
    )
    return true
  } catch (error) {
    if (isUnreadable(error)) return false
    throw error
  }
}

/** What `pcm` is for every client of such services. */
export const pcmRate = 24_000

const settings: Record<keyof typeof audioEncoders, { format: string; options: Options }> = {
  mp3: { format: 'mp3', options: { b: '64k' } },
  opus: { format: 'ogg', options: { b: '32k' } },
  aac: { format: 'adts', options: { b: '64k' } },
  flac: { format: 'flac', options: {} },
}

/** Those that need nothing, and those whose encoder is in `ffmpeg`. */
export async function encodableFormats(ffmpeg = audioFfmpeg()): Promise<readonly SpeechFormat[]> {
  const isThere = await Promise.all(
    speechFormats.map(
      async format => format === 'wav' || format === 'pcm' || ffmpeg.isInstalled([audioEncoders[format]]),
    ),
  )
  return speechFormats.filter((_, index) => isThere[index])
}

/** Audio as a file. Throws `FfmpegMissing` where a format needs what is not installed. */
export async function encodeAudio(given: PcmAudio, format: SpeechFormat, signal: AbortSignal): Promise<Buffer> {
  const audio = resampled(given, pcmRate)
  if (format === 'pcm') return pcmOf(audio)
  if (format === 'wav') return wavOf(audio)
  const ffmpeg = audioFfmpeg()
  const encoder = audioEncoders[format]
  await ffmpeg.require([encoder])
  const { format: muxer, options } = settings[format]
  return inFolder('audio', async folder => {
    const [path, encoded] = [join(folder, 'audio'), join(folder, 'encoded')]
    await writeFile(path, wavOf(audio), { mode: 0o600 })
    const { bytes } = await ffmpeg.turn(
      run =>
        run('convert', {
          inputs: [{ path, reader: 'wav' }],
          tracks: [{ kind: 'audio', reads: [0], graph: '[in0]anull', encoder, options, rate: audio.rate, channels: 1 }],
          to: { path: encoded, format: muxer, mostBytes: speechBytes },
          maxPixels: 1,
        }),
      signal,
    )
    if (bytes === 0) throw new Error(`FFmpeg could not encode this audio as ${format}.`)
    return readFile(encoded)
  })
}

/** How long a recording is: a number, that nothing here can tell, or that it is broken. */
type AudioLength = { seconds: number } | 'unknown' | 'broken'

interface Measuring {
  /** Decoding ends soon after; what is longer has some length above it. */
  atMostSeconds: number
  signal: AbortSignal
}

/**
 * By decoding it whole, because headers may say anything, and what calls itself a WAV of samples may be coded audio that
 * its readers find. Only where nothing decodes, a plain WAV is believed.
 */
export async function audioLength(recording: Recording, { atMostSeconds, signal }: Measuring): Promise<AudioLength> {
  const asked = { rate: probeRate, atMostSeconds: atMostSeconds + 1, to: 'count', signal } as const
  const read = await decodeAudio(recording, asked)
  if (read === 'broken') return 'broken'
  const seconds = read === 'unknown' ? claimedSeconds(recording) : read.samples / probeRate
  if (seconds === null) return 'unknown'
  return seconds > 0 ? { seconds } : 'broken'
}

const claimedSeconds = ({ bytes, type }: Recording): number | null => (type === 'wav' ? wavSeconds(bytes) : null)

/** A recording whose samples were counted, in a file of ours that holds these and no others. */
export interface TakenRecording {
  recording: Recording
  seconds: number
}

type Taking = Pick<Decoding, 'rate' | 'channels' | 'atMostSeconds' | 'isCut' | 'signal'>

/**
 * Decodes a recording and writes it again, as WAV. An engine that got the caller's container might read another track of it
 * than was measured. Where FFmpeg is missing, only a WAV of plain samples can be taken: `unknown` is any other. Throws as
 * `decodeAudio` does.
 */
export async function takeRecording(
  recording: Recording,
  taking: Taking,
): Promise<TakenRecording | 'broken' | 'unknown'> {
  // A second more, so that what is too long is seen to be.
  const decoding = { ...taking, atMostSeconds: taking.atMostSeconds + 1 }
  const read = await decodeAudio(recording, { ...decoding, to: 'wav' })
  if (read === 'unknown') return takePlain(recording, taking)
  if (read === 'broken' || read.samples === 0) return 'broken'
  const seconds = read.samples / taking.rate
  return { recording: { bytes: read.bytes, type: 'wav' }, seconds }
}

/** The same for an upload of hours: an MP3 of a size that servers take, where a WAV would be larger. */
export async function takeLongRecording(
  recording: Recording,
  taking: Taking,
): Promise<TakenRecording | 'broken' | 'unknown'> {
  const most = { ...taking, atMostSeconds: taking.atMostSeconds + 1 }
  const counted = await decodeAudio(recording, { ...most, to: 'count' })
  if (counted === 'unknown') return takePlain(recording, taking)
  if (counted === 'broken' || counted.samples === 0) return 'broken'
  const seconds = counted.samples / taking.rate
  if (seconds * taking.rate * 2 <= longRecordingBytes) return takeRecording(recording, taking)
  // What is refused as too long need not be written.
  if (seconds > taking.atMostSeconds) return { recording, seconds }
  const kilobits = bitRates.find(each => (seconds * each * 1_000) / 8 <= longRecordingBytes) ?? 8
  const coded = await decodeAudio(recording, { ...most, to: 'mp3', options: { b: `${kilobits}k` } })
  if (coded === 'unknown' || coded === 'broken') return coded
  return { recording: { bytes: coded.bytes, type: 'mp3' }, seconds }
}

/** Of MP3 at 16,000 samples a second, in thousands of bits. */
const bitRates = [64, 56, 48, 40, 32, 24, 16] as const

async function takePlain(
  recording: Recording,
  { rate, signal }: Taking,
): Promise<TakenRecording | 'broken' | 'unknown'> {
  if (recording.type !== 'wav') return 'unknown'
  const audio = plainAudio(recording.bytes)
  if (!audio) return 'unknown'
  if (audio.samples.length === 0 || !(await isWhole(recording, signal))) return 'broken'
  const seconds = audio.samples.length / audio.rate
  return { recording: { bytes: wavOf(resampled(quieter(audio), rate)), type: 'wav' }, seconds }
}

/** By a fiftieth, which is inaudible: coded audio that claims to be samples is then none for any reader. */
function quieter({ samples, rate }: NonNullable<ReturnType<typeof plainAudio>>) {
  return { samples: samples.map(sample => Math.round(sample * 0.98)), rate }
}
