import type { Conversion } from '#host/media/conversion.ts'
import { encodedBytes } from '../bounds.ts'
import { picturePixels } from '../pictures/bounds.ts'
import { upscaledSeconds } from '../video-media/bounds.ts'
import type { VideoFormat } from '../video-media/media-format.ts'

/** The reader of each format is named, so that no content is taken for a playlist or a script. */
const readers: Record<VideoFormat, string> = { mp4: 'mov', mov: 'mov', webm: 'matroska' }

export interface Upscaling {
  sourcePath: string
  format: VideoFormat
  factor: 1 | 2 | 4
  outputPath: string
}

/** Enlarges a video by a sharp filter and keeps its pace and its sound. */
export function upscaling({ sourcePath, format, factor, outputPath }: Upscaling): Conversion {
  // Half of the colour's resolution must be whole.
  const even = (side: string) => `trunc(${side}*${factor}/2)*2`
  const enlarge = `scale=w='${even('iw')}':h='${even('ih')}':flags=lanczos,setsar=1,unsharp=3:3:0.4,format=yuv420p`
  return {
    inputs: [{ path: sourcePath, reader: readers[format] }],
    tracks: [
      {
        ...{ kind: 'video', reads: [0], graph: `[in0]trim=end=${upscaledSeconds},${enlarge}` },
        ...{ encoder: 'libx264', options: { preset: 'ultrafast', crf: '22' } },
      },
      {
        ...{ kind: 'audio', reads: [0], graph: `[in0]atrim=end=${upscaledSeconds}`, isOptional: true },
        ...{ encoder: 'aac', options: { b: '96k' }, rate: 48_000, channels: 2 },
      },
    ],
    to: { path: outputPath, format: 'mp4', options: { movflags: '+faststart' }, mostBytes: encodedBytes },
    maxPixels: picturePixels,
  }
}
