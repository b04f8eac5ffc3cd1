import { sniffType } from '#contract/wire/media-type.ts'

export const videoFormats = ['mp4', 'mov', 'webm'] as const
export type VideoFormat = (typeof videoFormats)[number]
export const soundFormats = ['wav', 'mp3'] as const
type SoundFormat = (typeof soundFormats)[number]
export type MediaFormat = VideoFormat | SoundFormat

export const mimeTypes: Record<MediaFormat, string> = {
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
}

export const isVideoFormat = (format: MediaFormat): format is VideoFormat =>
  (videoFormats as readonly MediaFormat[]).includes(format)

/** What engines take of the types there are: of Matroska files WebM, and of MPEG's sounds those of layer III. */
export function mediaFormat(bytes: Buffer): MediaFormat | null {
  switch (sniffType(bytes)) {
    case 'video/mp4':
    case 'audio/mp4':
      return 'mp4'
    case 'video/quicktime':
      return 'mov'
    case 'video/webm':
      return bytes.subarray(0, 64).includes('webm') ? 'webm' : null
    case 'audio/wav':
      return 'wav'
    case 'audio/mpeg':
      return bytes[0] !== 0xff || ((bytes[1] ?? 0) & 0x06) === 0x02 ? 'mp3' : null
    default:
      return null
  }
}
