import { answerTasks } from '#host/workers/thread-entry.ts'

/** Behaves as the task says, and returns how many tasks its thread has had. */
let tasks = 0
answerTasks(async (task: 'count' | 'hang' | 'die' | 'grow' | 'print') => {
  tasks++
  if (task === 'print') for (const stream of [process.stdout, process.stderr]) stream.write('a line for the log\n')
  if (task === 'hang') for (;;);
  if (task === 'die') process.exit(3)
  if (task === 'grow') for (const kept: object[] = []; ; ) kept.push(Array.from({ length: 1_000 }, () => ({})))
  return tasks
})
