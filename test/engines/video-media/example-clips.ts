import { drawn, made, played } from '../../media/made-media.ts'

/** A real file of this length; the name is its format. */
export function clip(
  format: 'mp4' | 'mov' | 'webm' | 'wav' | 'mp3' | 'avi',
  seconds: number,
  imagesPerSecond = 5,
): Promise<Buffer> {
  if (format === 'wav') return made('wav', [played(`sine=d=${seconds}:r=8000`, { encoder: 'pcm_s16le' })])
  if (format === 'mp3') return made('mp3', [played(`sine=d=${seconds}:r=8000`, { encoder: 'libmp3lame' })])
  const codec = format === 'webm' ? { encoder: 'libvpx', options: { deadline: 'realtime' } } : {}
  return made(format, [drawn(`testsrc=d=${seconds}:s=64x48:r=${imagesPerSecond},format=yuv420p`, codec)])
}

export const asDataUrl = (type: string, bytes: Buffer): string => `data:${type};base64,${bytes.toString('base64')}`

/** An MP4 whose header claims this many seconds, whatever its images come to. */
export function claiming(mp4: Buffer, seconds: number): Buffer {
  const lying = Buffer.from(mp4)
  for (const name of ['mvhd', 'tkhd', 'mdhd']) {
    for (let at = lying.indexOf(name); at >= 0; at = lying.indexOf(name, at + 4)) {
      const scale = name === 'tkhd' ? 1_000 : lying.readUInt32BE(at + 16)
      lying.writeUInt32BE(Math.round(seconds * scale), at + (name === 'tkhd' ? 24 : 20))
    }
  }
  return lying
}
