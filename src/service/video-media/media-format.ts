/** What the first bytes of a sound or a video say, so that nothing is read by a program before its type is known. */

export const videoFormats = ['mp4', 'mov', 'webm'] as const
export type VideoFormat = (typeof videoFormats)[number]
export const soundFormats = ['wav', 'mp3'] as const
export type SoundFormat = (typeof soundFormats)[number]
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

export function mediaFormat(bytes: Buffer): MediaFormat | null {
  const box = bytes.toString('latin1', 4, 8)
  if (box === 'ftyp') return bytes.toString('latin1', 8, 12) === 'qt  ' ? 'mov' : 'mp4'
  // QuickTime files from before that box.
  if (box === 'moov' || box === 'mdat' || box === 'wide') return 'mov'
  if (bytes.subarray(0, 4).equals(ebml)) return bytes.subarray(0, 64).includes('webm') ? 'webm' : null
  if (/^RIFF.{4}WAVE/s.test(bytes.toString('latin1', 0, 12))) return 'wav'
  return isMp3(bytes) ? 'mp3' : null
}

const ebml = Buffer.from('1a45dfa3', 'hex')

/** A tag, or the sync word of a frame of layer III. */
const isMp3 = (bytes: Buffer): boolean =>
  bytes.toString('latin1', 0, 3) === 'ID3' || (bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe6) === 0xe2)
