import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Recording, SoundType } from '../engines/audio-engines.ts'
import { ffmpeg, runFfmpeg } from './run-ffmpeg.ts'

/** The reader of each type is named, so that no content is taken for a playlist or a script. */
export const soundReaders: Record<SoundType, string> = {
  wav: 'wav',
  mp3: 'mp3',
  flac: 'flac',
  ogg: 'ogg',
  mp4: 'mov',
  webm: 'matroska',
  aac: 'aac',
}

export interface Decoding {
  /** Samples a second. */
  rate: number
  /** Nothing beyond is decoded: a small file may have any length. */
  atMostSeconds: number
  onPiece(piece: Buffer): void
  signal: AbortSignal
}

/** The sound of a recording as samples of 16 bits and one channel, by ffmpeg; `unknown` where there is none. Throws as `runFfmpeg` does. */
export async function decodeSound(
  recording: Recording,
  { rate, atMostSeconds, onPiece, signal }: Decoding,
): Promise<'decoded' | 'broken' | 'unknown'> {
  const program = await ffmpeg()
  if (!program) return 'unknown'
  const folder = await mkdtemp(join(tmpdir(), 'farebox-sound-'))
  try {
    const path = join(folder, 'sound')
    await writeFile(path, recording.bytes, { mode: 0o600 })
    const isRead = await runFfmpeg(program.path, {
      args: [
        ...['-nostdin', '-f', soundReaders[recording.type], '-protocol_whitelist', 'file', '-i', `file:${path}`],
        ...['-map', '0:a:0', '-ac', '1', '-ar', `${rate}`, '-t', `${atMostSeconds}`, '-f', 's16le', 'pipe:1'],
      ],
      onOutput: onPiece,
      signal,
    })
    return isRead ? 'decoded' : 'broken'
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
