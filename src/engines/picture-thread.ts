/** Where a thread that works on pictures starts. */
import { answerTasks } from '#host/threads/answer-tasks.ts'
import type { PictureAnswer, PictureTask } from './picture-task.ts'
import { UnreadablePicture } from './pictures/raster-of.ts'
import { runTask } from './run-task.ts'

answerTasks(async (task: PictureTask): Promise<PictureAnswer> => {
  try {
    return { ok: true, bytes: await runTask(task) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { ok: false, isUnreadable: error instanceof UnreadablePicture, message }
  }
})
