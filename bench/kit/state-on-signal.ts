/**
 * At each SIGUSR2, writes what this process holds before and after a garbage collection that also returns unused pages
 * to the system, and its event loop delay since the last one.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Written to `NUMBER.json` in the folder, counted from 1. */
export interface ServerState {
  residentBytes: number
  /** Before the collection: V8 keeps the pages of a load for the next one, and returns them when it chooses to. */
  residentBeforeBytes: number
  /** Reachable objects and buffers. */
  heldBytes: number
  /** Open handles by kind: sockets, timers, workers. */
  resources: Record<string, number>
  /** 99.9 % of the turns of its event loop were at most this late. */
  lateMs: number
}

const folder = new URL(import.meta.url).searchParams.get('folder')
/** Resolution of the event loop histogram. */
const lookMs = 5

if (folder) {
  const delays = monitorEventLoopDelay({ resolution: lookMs })
  delays.enable()
  let written = 0
  process.on('SIGUSR2', () => {
    const lateMs = Math.max(0, delays.percentile(99.9) / 1e6 - lookMs)
    const residentBeforeBytes = process.memoryUsage.rss()
    globalThis.gc?.({ type: 'major', flavor: 'last-resort' })
    const { rss, heapUsed, external } = process.memoryUsage()
    const resources: Record<string, number> = {}
    for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1
    const heldBytes = heapUsed + external
    const state: ServerState = { residentBytes: rss, residentBeforeBytes, heldBytes, resources, lateMs }
    const file = join(folder, `${++written}.json`)
    writeFileSync(`${file}.part`, JSON.stringify(state))
    renameSync(`${file}.part`, file)
    delays.reset()
  })
}
