import { answerTasks } from '#host/threads/answer-tasks.ts'
import type { ImageAnswer } from './image-worker.ts'
import { UnreadableImage } from './raster.ts'

/** The other side of an `ImageWorker`: the thread of an engine begins with it. */
export function answerImageTasks<Task>(work: (task: Task) => Promise<Buffer>): void {
  answerTasks(async (task: Task): Promise<ImageAnswer> => {
    try {
      return { ok: true, bytes: await work(task) }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return { ok: false, isUnreadable: error instanceof UnreadableImage, message }
    }
  })
}
