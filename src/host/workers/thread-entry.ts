import { parentPort } from 'node:worker_threads'

/**
 * Returns the entry point of the thread with this name: the source next to its caller in a checkout, or a separate file
 * next to the bundle. The build uses the same name.
 */
export const threadUrl = (name: string, asker: string): URL =>
  new URL(asker.endsWith('.ts') ? `./${name}.ts` : `./${name}.js`, asker)

/** Node 22 prints in every thread that `node:sqlite` is experimental, and users can do nothing about it. */
export const threadArguments = ['--disable-warning=ExperimentalWarning']

/** The thread's side: answers each task in order. An exception ends the thread. */
export function answerTasks<Task, Answer>(answer: (task: Task) => Promise<Answer>): void {
  if (!parentPort) return
  // Packages print names from a caller's document, line breaks included, which would be lines of the service's log. If
  // the process read these streams instead, the thread would keep it alive.
  for (const stream of [process.stdout, process.stderr]) stream.write = () => true
  parentPort.on('message', async (task: Task) => {
    parentPort?.postMessage(await answer(task))
  })
}
