/** Where the writer's thread starts. It owns the only connection that writes, and answers one request at a time. */
import type { DatabaseSync } from 'node:sqlite'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { closingCheckpointMs } from '../../bounds.ts'
import { batchCommitter, slicePruner } from './batch.ts'
import { openForWriting } from './connection.ts'
import type { WriterAnswer, WriterData, WriterRequest } from './writer.ts'

if (parentPort) serve(parentPort, workerData as WriterData)

function serve(port: MessagePort, { path }: WriterData): void {
  const database = openForWriting(path)
  const answerTo = answerer(database)
  port.on('message', (request: WriterRequest) => {
    if (request.ask !== 'close') return port.postMessage(answerTo(request))
    emptyLog(database)
    database.close()
    port.close()
  })
  port.postMessage({ answer: 'ready' } satisfies WriterAnswer)
}

/**
 * Puts all of the log into the database, which a user who copies the file of a stopped service takes for the whole: readers
 * that are still open would keep the last connection from doing so by itself. What cannot be put there stays in the log.
 */
function emptyLog(database: DatabaseSync): void {
  try {
    database.exec(`PRAGMA busy_timeout = ${closingCheckpointMs}; PRAGMA wal_checkpoint(TRUNCATE)`)
  } catch {
    // A full disk: the log is as good as before.
  }
}

function answerer(database: DatabaseSync): (request: Exclude<WriterRequest, { ask: 'close' }>) => WriterAnswer {
  const commit = batchCommitter(database)
  const prune = slicePruner(database)
  return request => {
    try {
      if (request.ask === 'commit') return { answer: 'outcomes', results: commit(request.units) }
      return { answer: 'pruned', rows: prune(request.slice, request.rows) }
    } catch (error) {
      return { answer: 'failed', message: error instanceof Error ? error.message : String(error) }
    }
  }
}
