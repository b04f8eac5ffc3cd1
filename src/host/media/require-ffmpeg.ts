import { findMs } from '../bounds.ts'
import { FfmpegMissing } from './ffmpeg-missing.ts'
import { MediaWorkers } from './media-workers.ts'

/** Asks a media process, which is ended afterwards. Throws `FfmpegMissing` where FFmpeg, or one of these encoders, is missing. */
export async function requireFfmpeg(encoders: readonly string[]): Promise<void> {
  const workers = new MediaWorkers({ atOnce: 1, waiting: 0, timeoutMs: findMs, memoryMb: 1_024 })
  try {
    const lacking = await workers.turn(run => run('lacking', encoders), new AbortController().signal)
    if (lacking.length > 0) throw new FfmpegMissing(lacking)
  } finally {
    workers.close()
  }
}
