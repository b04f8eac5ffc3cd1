/** Counts from one SIGUSR2 to the next what the main thread of this process allocates, and writes it to `PID.json`. */
import { renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'

interface Node {
  selfSize: number
  children: Node[]
}

const folder = new URL(import.meta.url).searchParams.get('folder') ?? '.'
/** One allocation in this many bytes is sampled. */
const sampledBytes = 16 * 1024
let session: Session | null = null

process.on('SIGUSR2', async () => {
  if (session === null) {
    session = new Session()
    session.connect()
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: sampledBytes,
      // Without these only what is still alive at the end would be counted.
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    })
    return
  }
  const { profile } = await session.post('HeapProfiler.stopSampling')
  session.disconnect()
  session = null
  const file = join(folder, `${process.pid}.json`)
  writeFileSync(`${file}.part`, JSON.stringify({ bytes: bytesOf(profile.head) }))
  renameSync(`${file}.part`, file)
})

const bytesOf = ({ selfSize, children }: Node): number =>
  children.reduce((sum, child) => sum + bytesOf(child), selfSize)
