/** A thread that reads the command lines of all processes below this one, again and again, while tests run. */
import { readdirSync, readFileSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { canaryIn } from './search.ts'

/** A program of Node takes longer than this to start and end. */
const sampleMs = 50

/** A process has its own line a moment after it was forked; from then on few change it, and slowly. */
const youngReads = 20
const oldEvery = 40

interface Known {
  line: string
  reads: number
}

const parents = new Map<string, string | null>()
const lines = new Map<string, Known>()

function read(path: string): Buffer | null {
  try {
    return readFileSync(path)
  } catch {
    return null
  }
}

/** Whose child it was when it was first seen. */
function parentOf(pid: string): string | null {
  const known = parents.get(pid)
  if (known !== undefined) return known
  const stat = read(`/proc/${pid}/stat`)?.toString('latin1')
  // The name of a program stands in brackets and may hold any.
  const parent = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? null
  parents.set(pid, parent)
  return parent
}

function isOurs(pid: string): boolean {
  for (let at: string | null = pid, depth = 0; at !== null && depth < 100; at = parentOf(at), depth++) {
    if (at === `${process.pid}`) return true
  }
  return false
}

function sample(): void {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  const present = new Set(pids)
  for (const gone of parents.keys()) if (!present.has(gone)) parents.delete(gone)
  for (const gone of lines.keys()) if (!present.has(gone)) lines.delete(gone)
  for (const pid of pids) {
    if (!isOurs(pid)) continue
    const known = lines.get(pid)
    if (known && ++known.reads > youngReads && known.reads % oldEvery > 0) continue
    const bytes = read(`/proc/${pid}/cmdline`)
    const line = bytes?.toString('latin1')
    if (!bytes || line === undefined || known?.line === line) continue
    lines.set(pid, { line, reads: known?.reads ?? 0 })
    const found = canaryIn(bytes)
    if (found !== null) parentPort?.postMessage(`The command line of a ${line.split('\0')[0]} holds ${found}.`)
  }
}

const sampling = setInterval(sample, sampleMs)
parentPort?.once('message', () => {
  clearInterval(sampling)
  parentPort?.close()
})
