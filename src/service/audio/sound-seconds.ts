import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Recording, SoundType } from '../engines/audio-engines.ts'
import { probeRate } from './bounds.ts'
import { ffmpeg, runFfmpeg } from './run-ffmpeg.ts'
import { wavSeconds } from './wav.ts'

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

/** How long a recording is: a number, that nothing here can tell, or that it is broken. */
export type SoundLength = { seconds: number } | 'unknown' | 'broken'

/** A WAV by its header; everything else by decoding it whole, because headers of such files may say anything. */
export async function soundLength(recording: Recording, signal: AbortSignal): Promise<SoundLength> {
  if (recording.type === 'wav') {
    const seconds = wavSeconds(recording.bytes)
    return seconds === null ? 'broken' : { seconds }
  }
  const program = await ffmpeg()
  if (!program) return 'unknown'
  const folder = await mkdtemp(join(tmpdir(), 'farebox-sound-'))
  try {
    const path = join(folder, 'sound')
    await writeFile(path, recording.bytes, { mode: 0o600 })
    let bytes = 0
    const isRead = await runFfmpeg(program.path, {
      args: [
        ...['-nostdin', '-f', soundReaders[recording.type], '-protocol_whitelist', 'file', '-i', `file:${path}`],
        ...['-map', '0:a:0', '-ac', '1', '-ar', `${probeRate}`, '-f', 's16le', 'pipe:1'],
      ],
      onOutput: piece => {
        bytes += piece.length
      },
      signal,
    })
    return isRead && bytes > 0 ? { seconds: bytes / 2 / probeRate } : 'broken'
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
