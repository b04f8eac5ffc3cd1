/** A thread that searches the folders of finished tests, then removes them. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { canariesBelow } from './search-files.ts'

const { folder } = workerData as { folder: string }

/** How long a folder may wait for it. */
const everyMs = 500

function search(): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    for (const found of canariesBelow(path)) parentPort?.postMessage(found)
    try {
      rmSync(path, { recursive: true, force: true })
    } catch {
      // Something writes there still; the end of the run removes it.
    }
  }
}

const searching = setInterval(search, everyMs)
parentPort?.once('message', () => {
  clearInterval(searching)
  search()
  parentPort?.close()
})
