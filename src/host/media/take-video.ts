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
import { codedSeconds } from './coded-seconds.ts'
import { Excessive, Unreadable } from './unreadable.ts'
import { checkWhole } from './whole/check-whole.ts'

export interface TakeVideoTask {
  path: string
  format: 'mp4' | 'mov' | 'webm'
  /** Of all tracks together. */
  mostPackets: number
}

/** A video of one track of frames and at most one of audio, with the packets that were measured and nothing else. */
export interface TakenVideo {
  bytes: Uint8Array
  /** Up to the end of its last frame or sample. */
  seconds: number
  width: number
  height: number
  frames: number
}

/** The reader of each format is named, so that no content is taken for another. */
const readers = { mp4: [MP4, QTFF], mov: [QTFF, MP4], webm: [WEBM, MATROSKA] }

/** What encoders of audio put before the first frame and behind the last, which players leave out. */
const paddingSeconds = 0.1

/** More than rounding makes of the length of audio. */
const audioToleranceSeconds = 1

/**
 * Writes a file anew around the packets of its main tracks. Its header, further tracks, attachments and lists of edits
 * may say anything, and whoever reads them may read them otherwise than we do; what comes out says what it holds.
 * Throws `Unreadable`, and `Excessive` by its tables, before any packet is read.
 */
export async function takeVideo({ path, format, mostPackets }: TakeVideoTask): Promise<TakenVideo> {
  const file = await readFile(path)
  const { packets } = checkWhole(file, format)
  if (packets > mostPackets) throw tooManyPackets(`${packets}`, mostPackets)
  using input = new Input({ source: new BufferSource(file), formats: readers[format] })
  try {
    return await rewritten(input, format, mostPackets)
  } catch (error) {
    throw error instanceof Unreadable || error instanceof Excessive
      ? error
      : new Unreadable(error instanceof Error ? error.message : String(error))
  }
}

const tooManyPackets = (count: string, most: number) =>
  new Excessive(`has ${count} frames and packets of audio; at most ${most} are taken`)

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
  const [frames, sound] = walked
  const padding = startsAt < 0 && startsAt > -paddingSeconds ? -startsAt : 0
  const [frameEnd, soundEnd] = [(frames?.end ?? 0) - padding, (sound?.end ?? 0) - padding]
  const seconds = soundEnd > frameEnd + paddingSeconds ? soundEnd : frameEnd
  if (sound && sound.coded > seconds + audioToleranceSeconds) {
    throw new Unreadable(`its audio has ${sound.coded.toFixed(1)} s, and its times say ${seconds.toFixed(1)} s`)
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
  /** When its first packet begins, in seconds. */
  first: Promise<number>
  add(packet: EncodedPacket): Promise<void>
  /** How long a packet plays by what is coded in it; null where only its times say. */
  coded(packet: EncodedPacket): number | null
}

async function videoTrack(track: InputVideoTrack, output: Output): Promise<Rewriting> {
  const codec = await track.getCodec()
  const decoderConfig = await track.getDecoderConfig()
  if (!codec || !decoderConfig) throw new Unreadable('its video is coded in a way that is not known here')
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
  if (!codec || !decoderConfig) throw new Unreadable('its audio is coded in a way that is not known here')
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
  /** When its last packet ends, in seconds. */
  end: number
  coded: number
}

/** Writes the packets of all tracks in the order of their times, from 0 on. Tables may count fewer than there are. */
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
