/** Where a thread that works on pictures starts. Answers in the order of the questions. */
import { type MessagePort, parentPort } from 'node:worker_threads'
import type { PictureAnswer, PictureTask } from './picture-task.ts'
import { UnreadablePicture } from './raster-of.ts'
import { runTask } from './run-task.ts'

if (parentPort) serve(parentPort)

function serve(port: MessagePort): void {
  port.on('message', async (task: PictureTask) => {
    port.postMessage(await answerTo(task))
  })
}

async function answerTo(task: PictureTask): Promise<PictureAnswer> {
  try {
    return { ok: true, bytes: await runTask(task) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { ok: false, isUnreadable: error instanceof UnreadablePicture, message }
  }
}
