import { parentPort } from 'node:worker_threads'

/**
 * Where the thread of that name starts: the source next to its caller in a checkout, a separate file in the bundle,
 * where all lie side by side. The build knows it by the same name.
 */
export const threadUrl = (name: string, asker: string): URL =>
  new URL(asker.endsWith('.ts') ? `./${name}.ts` : `./${name}.js`, asker)

/** The side of a thread that answers: each task in the order in which it came. What is thrown ends the thread. */
export function answerTasks<Task, Answer>(answer: (task: Task) => Promise<Answer>): void {
  parentPort?.on('message', async (task: Task) => {
    parentPort?.postMessage(await answer(task))
  })
}
