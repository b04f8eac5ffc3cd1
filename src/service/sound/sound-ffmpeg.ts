import { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import { soundMs, soundsAtOnce, soundsWaiting } from './bounds.ts'

let opened: Ffmpeg | null = null

/** ffmpeg for sound: one line for the whole process, because its processors are one. */
export function soundFfmpeg(): Ffmpeg {
  opened ??= new Ffmpeg({ atOnce: soundsAtOnce, waiting: soundsWaiting, timeoutMs: soundMs })
  return opened
}
