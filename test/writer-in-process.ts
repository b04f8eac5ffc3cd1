/**
 * Each ledger that a test opens starts a thread for its writer, which takes longer than most tests. In the unit layer the
 * writer's code runs beside the test instead, behind the same messages. The integration layer has the thread.
 */
import { EventEmitter } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import threads, { MessageChannel, type MessagePort, type WorkerOptions } from 'node:worker_threads'
import type { WriterData } from '#ledger/store/sqlite/writer-messages.ts'

type Serve = (port: MessagePort, data: WriterData) => void

/** As much of a `Worker` as the store uses. */
class WriterInProcess extends EventEmitter {
  readonly #port: MessagePort

  constructor(serving: Promise<{ serve: Serve }>, data: WriterData) {
    super()
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    port1.on('message', message => this.emit('message', message))
    port1.on('messageerror', error => this.emit('messageerror', error))
    port1.on('close', () => this.emit('exit', 0))
    serving
      .then(({ serve }) => serve(port2, data))
      .catch(error => {
        this.emit('error', error)
        port1.close()
      })
  }

  postMessage(message: unknown): void {
    this.#port.postMessage(message)
  }
}

const Thread = threads.Worker

/** `new` gives what a constructor returns. */
function WriterOrThread(url: string | URL, options: WorkerOptions) {
  return String(url).endsWith('/ledger/store/sqlite/sqlite-writer-thread.ts')
    ? new WriterInProcess(import('#ledger/store/sqlite/sqlite-writer-thread.ts'), options.workerData)
    : new Thread(url, options)
}

// Once per process, which many files share.
if (Thread.name !== WriterOrThread.name) {
  Object.assign(threads, { Worker: WriterOrThread })
  syncBuiltinESMExports()
}
