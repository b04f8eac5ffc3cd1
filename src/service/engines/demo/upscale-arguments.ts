import { upscaledSeconds } from '../../video-media/bounds.ts'
import type { VideoFormat } from '../../video-media/media-format.ts'
import { encodedBytes } from '../bounds.ts'

/** The reader of each format is named, so that no content is taken for a playlist or a script. */
const readers: Record<VideoFormat, string> = { mp4: 'mov', mov: 'mov', webm: 'matroska' }

export interface Upscaling {
  sourcePath: string
  format: VideoFormat
  factor: 1 | 2 | 4
  outputPath: string
}

/** Arguments of ffmpeg that enlarge a video by a sharp filter and keep its pace and its sound. */
export function upscaleArguments({ sourcePath, format, factor, outputPath }: Upscaling): string[] {
  // Half of the colour's resolution must be whole.
  const even = (side: string) => `trunc(${side}*${factor}/2)*2`
  const enlarge = `scale=w='${even('iw')}':h='${even('ih')}':flags=lanczos,setsar=1,unsharp=3:3:0.4`
  return [
    ...['-hide_banner', '-loglevel', 'error', '-nostdin', '-y'],
    ...['-protocol_whitelist', 'file', '-f', readers[format], '-i', `file:${sourcePath}`],
    ...['-map', '0:v:0', '-map', '0:a:0?', '-vf', enlarge, '-t', `${upscaledSeconds}`],
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '22', '-pix_fmt', 'yuv420p', '-threads', '2'],
    ...['-c:a', 'aac', '-b:a', '96k'],
    ...['-map_metadata', '-1', '-movflags', '+faststart', '-fs', `${encodedBytes}`, '-f', 'mp4', `file:${outputPath}`],
  ]
}
