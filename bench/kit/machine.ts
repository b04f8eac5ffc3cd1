import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'

/** The machine of a measurement. */
export interface Machine {
  node: string
  processor: string
  cores: number
  memoryGiB: number
  /** Load of the minute before the run: above 1, other programs were busy too, and only ratios count. */
  loadBefore: number
  date: string
}

export const describeMachine = (): Machine => ({
  node: process.versions.node,
  processor: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  loadBefore: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  date: new Date().toISOString().slice(0, 16).replace('T', ' '),
})

/** Returns the cores that this process may use: `0-1,4` is 0, 1 and 4. One core if the system does not tell. */
function allowedCores(): number[] {
  if (process.platform !== 'linux') return [0]
  const [, list = '0'] = /^Cpus_allowed_list:\s+(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return list.split(',').flatMap(range => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}

/** The measured server has a core of its own; the load and the mock upstream share the other. */
export const [serverCore = 0, loadCore = serverCore] = allowedCores()

/** Binds this process and its future children to the load's core. Throws on a system without taskset. */
export function pinLoad(): void {
  if (process.platform !== 'linux') {
    throw new Error('This benchmark gives the server a core of its own and reads /proc. Run it on Linux.')
  }
  if (serverCore === loadCore) process.stderr.write('There is only one core, so the load takes time from the server.\n')
  execFileSync('taskset', ['-a', '-c', '-p', `${loadCore}`, `${process.pid}`], { stdio: 'ignore' })
}

/** Moves processes and their children to a core. */
export function pinProcesses(ids: readonly number[], core: number): void {
  for (const id of ids.flatMap(treeOf))
    execFileSync('taskset', ['-a', '-c', '-p', `${core}`, `${id}`], { stdio: 'ignore' })
}

/** Returns the command that runs a program on some cores only: `0`, or a list such as `0,1`. */
export const onCores = (cores: number | string, program: string, args: readonly string[]): [string, string[]] => [
  'taskset',
  ['-c', `${cores}`, program, ...args],
]

/** Ticks per second in `/proc/PID/stat`, the same on every Linux that Node supports. */
const ticksPerSecond = 100

/** Returns a process's CPU time so far in microseconds, including all threads and ended children. */
export function cpuMicrosOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * (1e6 / ticksPerSecond)
}

/** Returns the CPU time of a process and all its descendants so far, in microseconds. */
export const treeCpuMicrosOf = (pid: number): number => treeOf(pid).reduce((sum, each) => sum + ownCpuMicrosOf(each), 0)

function ownCpuMicrosOf(pid: number): number {
  try {
    return cpuMicrosOf(pid)
  } catch {
    // It ended in the meantime.
    return 0
  }
}

function treeOf(pid: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const id = Number(name)
    if (!Number.isInteger(id)) continue
    try {
      parents.set(id, Number(readFileSync(`/proc/${id}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]))
    } catch {
      // It ended in the meantime.
    }
  }
  const tree = [pid]
  for (const each of tree) tree.push(...[...parents].filter(([, parent]) => parent === each).map(([id]) => id))
  return tree
}

/** Returns the memory that a process uses now, in bytes. */
export function residentBytesOf(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) * 1024
}
