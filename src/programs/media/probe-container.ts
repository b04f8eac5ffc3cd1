import {
  ADTS,
  EncodedPacketSink,
  FilePathSource,
  FLAC,
  Input,
  type InputTrack,
  MP3,
  MP4,
  OGG,
  QTFF,
  WAVE,
  WEBM,
} from 'mediabunny'
import { Unreadable } from './unreadable.ts'

export interface ProbeTask {
  path: string
  format: keyof typeof readers
}

/** What a file holds, as its packets say it. */
export interface ProbedContainer {
  /** Up to the end of its last frame or sample. */
  seconds: number
  /** Null where it is sound alone. */
  video: { width: number; height: number; frames: number } | null
}

/** The reader of each format is named, so that no content is taken for another. */
const readers = {
  mp4: [MP4, QTFF],
  mov: [QTFF, MP4],
  webm: [WEBM],
  wav: [WAVE],
  mp3: [MP3],
  flac: [FLAC],
  ogg: [OGG],
  aac: [ADTS],
}

/** Walks through all packets: a header may claim any length, and the length is the price. Throws `Unreadable`. */
export async function probeContainer({ path, format }: ProbeTask): Promise<ProbedContainer> {
  using input = new Input({ source: new FilePathSource(path), formats: readers[format] })
  try {
    const video = await input.getPrimaryVideoTrack()
    const audio = await input.getPrimaryAudioTrack()
    const walked = await Promise.all([video, audio].map(track => (track ? walk(track) : null)))
    const seconds = Math.max(0, ...walked.map(each => each?.seconds ?? 0))
    const [frames] = walked
    if (!video) return { seconds, video: null }
    const [width, height] = [await video.getCodedWidth(), await video.getCodedHeight()]
    return { seconds, video: { width, height, frames: frames?.packets ?? 0 } }
  } catch (error) {
    throw new Unreadable(error instanceof Error ? error.message : String(error))
  }
}

async function walk(track: InputTrack): Promise<{ seconds: number; packets: number }> {
  let [seconds, packets] = [0, 0]
  for await (const packet of new EncodedPacketSink(track).packets(undefined, undefined, { metadataOnly: true })) {
    packets++
    seconds = Math.max(seconds, packet.timestamp + packet.duration)
  }
  return { seconds, packets }
}
