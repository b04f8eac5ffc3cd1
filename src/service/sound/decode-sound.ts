import { inFile } from '#programs/in-folder.ts'
import { succeeded } from '../ffmpeg/succeeded.ts'
import { soundFfmpeg } from './sound-ffmpeg.ts'
import type { Recording, SoundType } from './sound-type.ts'

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

/**
 * The sound of a recording as samples of 16 bits and one channel, by ffmpeg; `unknown` where there is none. Throws
 * `modelOverloaded` where too many wait, and `requestTimeout` where it takes too long.
 */
export async function decodeSound(
  recording: Recording,
  { rate, atMostSeconds, onPiece, signal }: Decoding,
): Promise<'decoded' | 'broken' | 'unknown'> {
  const ffmpeg = soundFfmpeg()
  if (!(await ffmpeg.isInstalled())) return 'unknown'
  const end = await ffmpeg.turn(
    run =>
      inFile('sound', recording.bytes, path =>
        run({
          args: [
            ...['-hide_banner', '-loglevel', 'error', '-nostdin'],
            ...['-f', soundReaders[recording.type], '-protocol_whitelist', 'file', '-i', `file:${path}`],
            ...['-map', '0:a:0', '-ac', '1', '-ar', `${rate}`, '-t', `${atMostSeconds}`, '-f', 's16le', 'pipe:1'],
          ],
          onOutput: onPiece,
          signal,
        }),
      ),
    signal,
  )
  return succeeded(end) ? 'decoded' : 'broken'
}
