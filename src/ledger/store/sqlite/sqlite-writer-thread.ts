/** Entry point of the writer's thread. It owns the only connection that writes, and answers one request at a time. */
import type { DatabaseSync } from 'node:sqlite'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { closingCheckpointMs } from '../../bounds.ts'
import { batchCommitter, slicePruner } from './batch.ts'
import { openForWriting } from './connection.ts'
import { deadHoldsEnder } from './end-dead-holds.ts'
import { entryFolder } from './fold-entries.ts'
import { knownRows } from './work.ts'
import { listOf, type WriterAnswer, type WriterData, type WriterRequest } from './writer-messages.ts'

if (parentPort) serve(parentPort, workerData as WriterData)

export function serve(port: MessagePort, { path }: WriterData): void {
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
 * Merges the log into the database, because users who copy the file of a stopped service expect it to be complete. Open
 * readers would prevent the last connection from merging it. If the merge fails, the rows stay in the log.
 */
function emptyLog(database: DatabaseSync): void {
  try {
    database.exec(`PRAGMA busy_timeout = ${closingCheckpointMs}; PRAGMA wal_checkpoint(TRUNCATE)`)
  } catch {
    // A full disk: the log is just as good.
  }
}

function answerer(database: DatabaseSync): (request: Exclude<WriterRequest, { ask: 'close' }>) => WriterAnswer {
  const known = knownRows(database)
  const commit = batchCommitter(database, known)
  const prune = slicePruner(database)
  const fold = entryFolder(database)
  const endHolds = deadHoldsEnder(database)
  return request => {
    try {
      if (request.ask === 'commit') return { answer: 'outcomes', list: listOf(commit(request.units)) }
      if (request.ask === 'prune') return { answer: 'done', rows: prune(request.slice, request.rows) }
      if (request.ask === 'fold') {
        fold(request.fold)
        return { answer: 'done', rows: request.fold.count }
      }
      known.forget()
      return { answer: 'done', rows: endHolds(request.owner, request.atMs) }
    } catch (error) {
      return { answer: 'failed', message: error instanceof Error ? error.message : String(error) }
    }
  }
}
