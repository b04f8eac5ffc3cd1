/** At each SIGUSR2 writes what this process holds, after a collection, and how late its event loop was since the last one. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** What it writes to `NUMBER.json` in the folder, counted from 1. */
export interface ServerState {
  residentBytes: number
  /** Objects and buffers that something still leads to. */
  heldBytes: number
  /** What keeps it alive: sockets, timers, workers, by their kind. */
  resources: Record<string, number>
  /** 99.9 % of the turns of its event loop began no later. */
  lateMs: number
}

const folder = new URL(import.meta.url).searchParams.get('folder')
/** How often the event loop is looked at; its histogram counts from one look to the next. */
const lookMs = 5

if (folder) {
  const delays = monitorEventLoopDelay({ resolution: lookMs })
  delays.enable()
  let written = 0
  process.on('SIGUSR2', () => {
    const lateMs = Math.max(0, delays.percentile(99.9) / 1e6 - lookMs)
    globalThis.gc?.()
    const { rss, heapUsed, external } = process.memoryUsage()
    const resources: Record<string, number> = {}
    for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1
    const state: ServerState = { residentBytes: rss, heldBytes: heapUsed + external, resources, lateMs }
    const file = join(folder, `${++written}.json`)
    writeFileSync(`${file}.part`, JSON.stringify(state))
    renameSync(`${file}.part`, file)
    delays.reset()
  })
}
