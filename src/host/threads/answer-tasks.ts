import { parentPort } from 'node:worker_threads'

/** The side of a thread that answers: each task in the order in which it came. What is thrown ends the thread. */
export function answerTasks<Task, Answer>(answer: (task: Task) => Promise<Answer>): void {
  parentPort?.on('message', async (task: Task) => {
    parentPort?.postMessage(await answer(task))
  })
}
