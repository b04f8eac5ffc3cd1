import { workerData } from 'node:worker_threads'

/** Often enough to limit a decoder's overrun to some tens of megabytes, and rarely enough to cost nothing. */
const everyMs = 20

/** Kills this thread's process once it uses more memory than allowed, including native memory. */
setInterval(() => {
  if (process.memoryUsage.rss() > workerData * 1024 * 1024) process.kill(process.pid, 'SIGKILL')
}, everyMs)
