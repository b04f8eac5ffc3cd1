import { workerData } from 'node:worker_threads'

/** Often enough that a decoder gets some tens of megabytes beyond the limit, and seldom enough to cost nothing. */
const everyMs = 20

/** Ends the process of this thread once it has more memory than it may, its native part counting. */
setInterval(() => {
  if (process.memoryUsage.rss() > workerData * 1024 * 1024) process.kill(process.pid, 'SIGKILL')
}, everyMs)
