import { readFile } from 'node:fs/promises'
import {
  BufferSource,
  BufferTarget,
  EncodedAudioPacketSource,
  type EncodedPacket,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  Input,
  type InputAudioTrack,
  type InputVideoTrack,
  MATROSKA,
  MovOutputFormat,
  MP4,
  Mp4OutputFormat,
  Output,
  QTFF,
  WEBM,
  WebMOutputFormat,
} from 'mediabunny'
import { Excessive, Unreadable } from './file-faults.ts'
import { checkWhole } from './whole/check-whole.ts'

export interface TakeVideoTask {
  path: string
  format: 'mp4' | 'mov' | 'webm'
  /** Over all tracks. */
  mostPackets: number
}

/** A video with one video track and at most one audio track, containing exactly the packets that were measured. */
export interface TakenVideo {
  bytes: Uint8Array
  /** Up to the end of its last frame or sample. */
  seconds: number
  width: number
  height: number
  frames: number
}

/** The reader of each format is fixed, so that no content can pass for another. */
const readers = { mp4: [MP4, QTFF], mov: [QTFF, MP4], webm: [WEBM, MATROSKA] }

/** Padding that audio encoders add before the first and after the last frame, and players skip. */
const paddingSeconds = 0.1

/** A difference in the length of audio that is more than rounding. */
const audioToleranceSeconds = 1

/**
 * Rewrites a file around the packets of its main tracks. Its header, other tracks, attachments and edit lists may say
 * anything, and other readers may interpret them differently; the rewritten file describes only its content. Throws
 * `Unreadable`, and `Excessive` based on its tables, before any packet is read.
 */
export async function takeVideo({ path, format, mostPackets }: TakeVideoTask): Promise<TakenVideo> {
  const file = await readFile(path)
  const { packets } = checkWhole(file, format)
  if (packets > mostPackets) throw tooManyPackets(`${packets}`, mostPackets)
  // Node 22 cannot read `using`.
  const input = new Input({ source: new BufferSource(file), formats: readers[format] })
  try {
    return await rewritten(input, format, mostPackets)
  } catch (error) {
    throw error instanceof Unreadable || error instanceof Excessive
      ? error
      : new Unreadable(error instanceof Error ? error.message : String(error))
  } finally {
    input.dispose()
  }
}

const tooManyPackets = (count: string, most: number) =>
  new Excessive(`has ${count} frames and audio packets; at most ${most} are allowed`)

async function rewritten(input: Input, format: TakeVideoTask['format'], mostPackets: number): Promise<TakenVideo> {
  const video = await input.getPrimaryVideoTrack()
  if (!video) throw new Unreadable('it has no frames')
  const audio = await input.getPrimaryAudioTrack()
  const output = new Output({ format: outputFormat(format), target: new BufferTarget() })
  const tracks = [await videoTrack(video, output), ...(audio ? [await audioTrack(audio, output)] : [])]
  const startsAt = Math.min(...(await Promise.all(tracks.map(({ first }) => first))))
  await output.start()
  const walked = await interleaved(tracks, startsAt, mostPackets)
  await output.finalize()
  const [frames, samples] = walked
  const padding = startsAt < 0 && startsAt > -paddingSeconds ? -startsAt : 0
  const [frameEnd, audioEnd] = [(frames?.end ?? 0) - padding, (samples?.end ?? 0) - padding]
  const seconds = audioEnd > frameEnd + paddingSeconds ? audioEnd : frameEnd
  if (samples && samples.coded > seconds + audioToleranceSeconds) {
    throw new Unreadable(
      `its audio is ${samples.coded.toFixed(1)} s long, but its timestamps end at ${seconds.toFixed(1)} s`,
    )
  }
  const { buffer } = output.target
  if (!buffer || !frames?.packets) throw new Unreadable('it has no frames')
  const [width, height] = [await video.getCodedWidth(), await video.getCodedHeight()]
  return { bytes: new Uint8Array(buffer), seconds, width, height, frames: frames.packets }
}

function outputFormat(format: TakeVideoTask['format']) {
  if (format === 'webm') return new WebMOutputFormat()
  const options = { fastStart: 'in-memory' } as const
  return format === 'mov' ? new MovOutputFormat(options) : new Mp4OutputFormat(options)
}

interface Rewriting {
  packets: AsyncGenerator<EncodedPacket, void, unknown>
  /** Start of its first packet, in seconds. */
  first: Promise<number>
  add(packet: EncodedPacket): Promise<void>
  /** Returns a packet's duration from its coded data; null if only the container's times show it. */
  coded(packet: EncodedPacket): number | null
}

async function videoTrack(track: InputVideoTrack, output: Output): Promise<Rewriting> {
  const codec = await track.getCodec()
  const decoderConfig = await track.getDecoderConfig()
  if (!codec || !decoderConfig) throw new Unreadable('its video codec is not supported')
  const source = new EncodedVideoPacketSource(codec)
  output.addVideoTrack(source, { rotation: await track.getRotation(), flip: await track.getFlip() })
  return {
    packets: new EncodedPacketSink(track).packets(),
    first: track.getFirstTimestamp(),
    add: packet => source.add(packet, { decoderConfig }),
    coded: () => null,
  }
}

async function audioTrack(track: InputAudioTrack, output: Output): Promise<Rewriting> {
  const codec = await track.getCodec()
  const decoderConfig = await track.getDecoderConfig()
  if (!codec || !decoderConfig) throw new Unreadable('its audio codec is not supported')
  const source = new EncodedAudioPacketSource(codec)
  output.addAudioTrack(source)
  return {
    packets: new EncodedPacketSink(track).packets(),
    first: track.getFirstTimestamp(),
    add: packet => source.add(packet, { decoderConfig }),
    coded: packet => codedSeconds(codec, decoderConfig, packet.data),
  }
}

interface Walked {
  packets: number
  /** End of its last packet, in seconds. */
  end: number
  coded: number
}

/** Writes the packets of all tracks in order of time, starting at 0. Tables may count fewer packets than there are. */
async function interleaved(tracks: readonly Rewriting[], startsAt: number, mostPackets: number): Promise<Walked[]> {
  let left = mostPackets
  const lines = await Promise.all(
    tracks.map(async track => ({ track, next: await track.packets.next(), packets: 0, end: 0, coded: 0 })),
  )
  while (true) {
    const [earliest] = lines
      .filter(({ next }) => !next.done)
      .toSorted((a, b) => (a.next.value?.timestamp ?? 0) - (b.next.value?.timestamp ?? 0))
    const packet = earliest?.next.value
    if (!earliest || !packet) return lines
    if (left-- === 0) throw tooManyPackets(`more than ${mostPackets}`, mostPackets)
    const timestamp = packet.timestamp - startsAt
    await earliest.track.add(packet.clone({ timestamp }))
    earliest.packets++
    earliest.end = Math.max(earliest.end, timestamp + packet.duration)
    earliest.coded += earliest.track.coded(packet) ?? packet.duration
    earliest.next = await earliest.track.packets.next()
  }
}

/** The part of a decoder's settings that we use. */
interface AudioSettings {
  sampleRate: number
  numberOfChannels: number
}

/** Samples per packet, for codecs with a fixed number. */
const fixedSamples: Readonly<Record<string, number>> = { aac: 1_024, ac3: 1_536 }

/** Bytes per sample of one channel. */
const plainBytes = (codec: string): number | null => {
  const bits = /^pcm-[a-z](\d+)/.exec(codec)?.[1]
  return codec === 'ulaw' || codec === 'alaw' ? 1 : bits ? Number(bits) / 8 : null
}

/**
 * Returns an audio packet's duration from its coded data, because its container may claim any time. Null for codecs
 * whose data must be decoded first.
 */
function codedSeconds(codec: string, settings: AudioSettings, data: Uint8Array): number | null {
  const { sampleRate, numberOfChannels } = settings
  const fixed = fixedSamples[codec]
  if (fixed !== undefined) return fixed / sampleRate
  const bytes = plainBytes(codec)
  if (bytes !== null) return data.length / (bytes * numberOfChannels * sampleRate)
  if (codec === 'mp3') return (sampleRate >= 32_000 ? 1_152 : 576) / sampleRate
  return codec === 'opus' ? opusSeconds(data) : null
}

/** Reads the frame size and count from the first bytes of an Opus packet (RFC 6716, section 3.1). */
function opusSeconds([head = 0, count = 0]: Uint8Array): number {
  const config = head >> 3
  const frameMs =
    config < 12 ? [10, 20, 40, 60][config % 4] : config < 16 ? [10, 20][config % 2] : [2.5, 5, 10, 20][config % 4]
  const frames = (head & 3) === 0 ? 1 : (head & 3) === 3 ? count & 63 : 2
  return ((frameMs ?? 20) * frames) / 1_000
}
