import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findFfmpeg } from '#programs/find-ffmpeg.ts'

const run = promisify(execFile)

/** A real file of this length, made by ffmpeg; the name's ending decides on its format. */
export async function clip(
  ending: 'mp4' | 'mov' | 'webm' | 'wav' | 'mp3' | 'avi',
  seconds: number,
  picturesPerSecond = 5,
): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-clip-'))
  try {
    const path = join(folder, `clip.${ending}`)
    const isSound = ending === 'wav' || ending === 'mp3'
    const source = isSound ? `sine=d=${seconds}:r=8000` : `testsrc=d=${seconds}:s=64x48:r=${picturesPerSecond}`
    const codec = ending === 'webm' ? ['-c:v', 'libvpx', '-deadline', 'realtime'] : []
    const ffmpeg = await findFfmpeg()
    await run(ffmpeg, ['-v', 'error', '-f', 'lavfi', '-i', source, ...codec, path])
    return await readFile(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export const asDataUrl = (type: string, bytes: Buffer): string => `data:${type};base64,${bytes.toString('base64')}`

/** An MP4 whose header claims this many seconds, whatever its pictures come to. */
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
