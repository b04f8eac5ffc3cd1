/**
 * A subprocess that reads, measures and writes media files, so that callers' files reach native code and third-party
 * parsers only here. It gets no settings, runs one task at a time, and is killed if it takes too long or too much
 * memory.
 */
import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { convert } from './convert.ts'
import { AvError, type AvLibrary, FfmpegMissing, loadAvLibrary } from './ffmpeg.ts'
import { Excessive, Unreadable } from './file-faults.ts'
import { type TakeVideoTask, takeVideo } from './take-video.ts'
import type { Conversion, MediaAnswer, MediaRequest, MediaTasks } from './tasks.ts'
import { checkWhole } from './whole/check-whole.ts'

const [mostMegabytes = ''] = process.argv.slice(2)
const watch = new URL(
  import.meta.url.endsWith('.ts') ? './memory-watch-thread.ts' : './memory-watch-thread.js',
  import.meta.url,
)
new Worker(watch, { workerData: Number(mostMegabytes) }).unref()

let library: Promise<AvLibrary> | null = null
const loaded = () => {
  library ??= loadAvLibrary()
  return library
}

// The parent process is gone.
process.on('disconnect', () => process.exit(0))
process.on('message', async ({ name, task }: MediaRequest) => {
  process.send?.(await answerOf(name, task))
})

async function answerOf(name: MediaRequest['name'], task: unknown): Promise<MediaAnswer> {
  try {
    switch (name) {
      case 'convert':
        return { answer: convert(await loaded(), task as Conversion) }
      case 'video':
        return { answer: await takeVideo(task as TakeVideoTask) }
      case 'whole': {
        const { path, format } = task as MediaTasks['whole']['task']
        return { answer: checkWhole(await readFile(path), format) }
      }
      case 'lacking': {
        const { av } = await loaded()
        const isLacking = (encoder: string) => av.Codec.findEncoderByName(encoder as never) === null
        return { answer: (task as readonly string[]).filter(isLacking) }
      }
    }
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    if (error instanceof FfmpegMissing) return { problem: 'missing', words }
    if (error instanceof Excessive) return { problem: 'excessive', words }
    return { problem: error instanceof AvError || error instanceof Unreadable ? 'unreadable' : 'failed', words }
  }
}
