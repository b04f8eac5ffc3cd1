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

/** FFmpeg for audio. The whole process shares one queue, because it shares the machine's cores. */
function audioFfmpeg(): Ffmpeg {
  opened ??= new Ffmpeg({ atOnce: audioTasksAtOnce, waiting: audioTasksWaiting, timeoutMs: audioTaskMs })
  return opened
}

/** The demuxer of each type is fixed, so that no content can pass for a playlist or a script. */
const audioReaders: Record<AudioType, string> = {
  wav: 'wav',
  mp3: 'mp3',
  flac: 'flac',
  ogg: 'ogg',
  mp4: 'mov',
  webm: 'matroska',
  aac: 'aac',
}

/** Possible outputs: 16-bit samples, raw or as a WAV; only their count; or an MP3. */
const outputs = {
  pcm: { format: 's16le', encoder: 'pcm_s16le' },
  wav: { format: 'wav', encoder: 'pcm_s16le' },
  count: { format: 'null', encoder: 'pcm_s16le' },
  mp3: { format: 'mp3', encoder: 'libmp3lame' },
} as const

interface Decoding {
  /** Samples per second. */
  rate: number
  channels?: AudioTrack['channels']
  /** Decoding stops here: a small file may have any length. A file whose header claims more is not decoded at all. */
  atMostSeconds: number
  /** Whether a longer file is decoded up to this limit anyway. */
  isCut?: boolean
  to: keyof typeof outputs
  options?: Options
  signal: AbortSignal
}

interface DecodedAudio {
  /** Number of samples in one channel. */
  samples: number
  /** Empty if the samples were only counted, or if the header claims too great a length. */
  bytes: Buffer
}

/**
 * Decodes the first track of a complete recording with FFmpeg; `unknown` if FFmpeg is missing. Throws `modelOverloaded`
 * if too many wait, and `requestTimeout` if it takes too long.
 */
export async function decodeAudio(
  recording: Recording,
  decoding: Decoding,
): Promise<DecodedAudio | 'broken' | 'unknown'> {
  const ffmpeg = audioFfmpeg()
  if (!(await ffmpeg.isInstalled())) return 'unknown'
  const { to, signal, isCut, atMostSeconds } = decoding
  try {
    // The file is written to disk only when its turn comes.
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

/** Returns null if the file may be decoded. */
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

/** Whether a file ends as its type requires; needs no FFmpeg. Throws like `decodeAudio`. */
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

/** The sample rate of `pcm` that clients of such services expect. */
export const pcmRate = 24_000

const settings: Record<keyof typeof audioEncoders, { format: string; options: Options }> = {
  mp3: { format: 'mp3', options: { b: '64k' } },
  opus: { format: 'ogg', options: { b: '32k' } },
  aac: { format: 'adts', options: { b: '64k' } },
  flac: { format: 'flac', options: {} },
}

/** Returns the formats that need no encoder, and those whose encoder is in `ffmpeg`. */
export async function encodableFormats(ffmpeg = audioFfmpeg()): Promise<readonly SpeechFormat[]> {
  const isThere = await Promise.all(
    speechFormats.map(
      async format => format === 'wav' || format === 'pcm' || ffmpeg.isInstalled([audioEncoders[format]]),
    ),
  )
  return speechFormats.filter((_, index) => isThere[index])
}

/** Encodes audio as a file. Throws `FfmpegMissing` if the format needs something that is not installed. */
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

/** The length of a recording: a number, unknown because nothing here can decode it, or broken. */
type AudioLength = { seconds: number } | 'unknown' | 'broken'

interface Measuring {
  /** Decoding stops soon after this length; a longer recording is reported as slightly longer than this. */
  atMostSeconds: number
  signal: AbortSignal
}

/**
 * Measures a recording by decoding all of it, because headers may claim anything, and a WAV that claims raw samples may
 * hold coded audio. A plain WAV is trusted only if nothing here can decode.
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

/** A recording whose samples were counted, in a file of ours that contains exactly these. */
export interface TakenRecording {
  recording: Recording
  seconds: number
}

type Taking = Pick<Decoding, 'rate' | 'channels' | 'atMostSeconds' | 'isCut' | 'signal'>

/**
 * Decodes a recording and rewrites it as WAV. With the caller's container, an engine might read another track than the
 * one measured. Without FFmpeg only a WAV of plain samples is accepted; anything else is `unknown`. Throws like
 * `decodeAudio`.
 */
export async function takeRecording(
  recording: Recording,
  taking: Taking,
): Promise<TakenRecording | 'broken' | 'unknown'> {
  // One second more, so that an overlong recording is noticed.
  const decoding = { ...taking, atMostSeconds: taking.atMostSeconds + 1 }
  const read = await decodeAudio(recording, { ...decoding, to: 'wav' })
  if (read === 'unknown') return takePlain(recording, taking)
  if (read === 'broken' || read.samples === 0) return 'broken'
  const seconds = read.samples / taking.rate
  return { recording: { bytes: read.bytes, type: 'wav' }, seconds }
}

/**
 * Takes a recording of hours: servers would not accept a WAV of that length, so a longer one is rewritten as an MP3.
 */
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
  // A recording that is refused as too long need not be written.
  if (seconds > taking.atMostSeconds) return { recording, seconds }
  const kilobits = bitRates.find(each => (seconds * each * 1_000) / 8 <= longRecordingBytes) ?? 8
  const coded = await decodeAudio(recording, { ...most, to: 'mp3', options: { b: `${kilobits}k` } })
  if (coded === 'unknown' || coded === 'broken') return coded
  return { recording: { bytes: coded.bytes, type: 'mp3' }, seconds }
}

/** Bit rates of MP3 at 16,000 samples per second, in thousands of bits. */
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

/** Reduces the volume by 2 %, which is inaudible but destroys any coded audio hidden in the samples. */
function quieter({ samples, rate }: NonNullable<ReturnType<typeof plainAudio>>) {
  return { samples: samples.map(sample => Math.round(sample * 0.98)), rate }
}
