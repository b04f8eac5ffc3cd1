import { AsyncLocalStorage } from 'node:async_hooks'
import crypto from 'node:crypto'
import fs from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { Readable } from 'node:stream'
import timers from 'node:timers/promises'
import workerThreads from 'node:worker_threads'
import type { Seeded } from '../seeded.ts'
import type { VirtualFiles } from './virtual-files.ts'
import { beforeSettled, type Scheduled } from './virtual-time.ts'

/** What code of one simulated process has instead of Node's own time, chance and disk. */
export interface Machine {
  /** False once the process was killed: whatever it still waits for never comes. */
  readonly isAlive: boolean
  after(delayMs: number, run: () => void): Scheduled
  readonly chance: Seeded
  readonly files: VirtualFiles
}

/** Places in the code that are told with what ran outside of every machine. */
const placesTold = 4

const machines = new AsyncLocalStorage<Machine>()

/** Told of whatever a seed does outside of every machine: it would run on real time or by real chance. */
const seeds = new AsyncLocalStorage<(what: string) => void>()

/** Runs a seed, which takes nothing from the real world without `onReal` being told. */
export const watchForReal = <Value>(onReal: (what: string) => void, run: () => Value): Value => seeds.run(onReal, run)

/** The machine that this code runs on; undefined where it runs on none, and Node's own function has to do. */
function machineFor(what: string): Machine | undefined {
  const machine = machines.getStore()
  const onReal = machine ? undefined : seeds.getStore()
  onReal?.(`${what} (${whereFrom()})`)
  return machine
}

/** The innermost files of ours that led here, this one left out. */
function whereFrom(): string {
  const frames = (new Error().stack ?? '').split('\n').slice(1)
  const ours = frames.flatMap(frame => /((?:src|test)\/[^ )]+)/.exec(frame)?.[1] ?? [])
  const others = ours.filter(place => !place.includes('virtual-machine.ts'))
  return others.slice(0, placesTold).join(' < ') || 'nowhere of ours'
}

/** Runs this, and whatever it sets going, on the machine. */
export const runOn = <Value>(machine: Machine, run: () => Value): Value => machines.run(machine, run)

const never = new Promise<never>(() => {})

/** A call of the world outside: nothing comes back to a process that has ended meanwhile. */
export async function answered<Value>(machine: Machine, answer: Promise<Value>): Promise<Value> {
  if (!machine.isAlive) {
    answer.catch(() => undefined)
    return never
  }
  try {
    const value = await answer
    return machine.isAlive ? value : await never
  } catch (error) {
    if (!machine.isAlive) return never
    throw error
  }
}

let isInstalled = false

/**
 * Puts our functions in the place of Node's, for the life of this process. They do as before for everybody who does not
 * run on a machine. Must come before the service's modules are read, because some keep what they import.
 */
export function installVirtualMachines(): void {
  if (isInstalled) return
  isInstalled = true
  installTimers()
  installDeadlines()
  installChance()
  installFiles()
  installThreads()
  syncBuiltinESMExports()
}

/** A virtual timer, as its owner sees it. */
class VirtualTimer {
  scheduled: Scheduled | null = null
  ref = () => this
  unref = () => this
  hasRef = () => true
}

function installTimers(): void {
  const real = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, sleep: timers.setTimeout }
  type Callback = (...values: unknown[]) => void
  const patched = {
    setTimeout(run: Callback, delayMs = 0, ...values: unknown[]) {
      const machine = machineFor('a timer')
      return machine
        ? startTimer(machine, () => run(...values), delayMs, false)
        : real.setTimeout(run, delayMs, ...values)
    },
    setInterval(run: Callback, delayMs = 0, ...values: unknown[]) {
      const machine = machineFor('an interval')
      return machine
        ? startTimer(machine, () => run(...values), delayMs, true)
        : real.setInterval(run, delayMs, ...values)
    },
    // Nothing here cancels one.
    setImmediate(run: Callback, ...values: unknown[]) {
      const machine = machineFor('an immediate')
      if (!machine) return real.setImmediate(run, ...values)
      return beforeSettled(() => machine.isAlive && run(...values))
    },
    clearTimeout: clearing(real.clearTimeout),
    clearInterval: clearing(real.clearInterval),
  }
  Object.assign(globalThis, patched)
  Object.assign(timers, {
    setTimeout<Value>(delayMs = 0, value?: Value, options: { signal?: AbortSignal } = {}) {
      const machine = machineFor('a wait')
      return machine ? sleepOn(machine, delayMs, value, options.signal) : real.sleep(delayMs, value, options)
    },
  })
}

const clearing =
  (real: (timer: NodeJS.Timeout | undefined) => void) =>
  (timer: unknown): void =>
    timer instanceof VirtualTimer ? timer.scheduled?.cancel() : real(timer as NodeJS.Timeout | undefined)

function startTimer(machine: Machine, run: () => void, delayMs: number, again: boolean): VirtualTimer {
  const timer = new VirtualTimer()
  const start = () => {
    timer.scheduled = machine.after(Math.max(1, delayMs), () => {
      if (!machine.isAlive) return
      if (again) start()
      machines.run(machine, run)
    })
  }
  start()
  return timer
}

function sleepOn<Value>(machine: Machine, delayMs: number, value: Value, signal?: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const aborted = () => {
      scheduled?.cancel()
      if (machine.isAlive) reject(Object.assign(new Error('The operation was aborted'), { name: 'AbortError' }))
    }
    if (signal?.aborted) return aborted()
    const scheduled: Scheduled | undefined = machine.after(Math.max(1, delayMs), () => {
      signal?.removeEventListener('abort', aborted)
      if (machine.isAlive) resolve(value)
    })
    signal?.addEventListener('abort', aborted, { once: true })
  })
}

function installDeadlines(): void {
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  Object.assign(AbortSignal, {
    timeout(delayMs: number) {
      const machine = machineFor('a deadline')
      if (!machine) return timeout(delayMs)
      const deadline = new AbortController()
      startTimer(machine, () => deadline.abort(new DOMException('The time is over.', 'TimeoutError')), delayMs, false)
      return deadline.signal
    },
  })
}

function installChance(): void {
  const { randomBytes, randomFillSync, randomUUID } = crypto
  const fill = (chance: Seeded, bytes: Uint8Array) => {
    for (let at = 0; at < bytes.length; at++) bytes[at] = chance.below(256)
    return bytes
  }
  Object.assign(crypto, {
    randomBytes(size: number) {
      const machine = machineFor('random bytes')
      return machine ? fill(machine.chance, Buffer.alloc(size)) : randomBytes(size)
    },
    randomFillSync(bytes: Uint8Array) {
      const machine = machineFor('random bytes')
      return machine ? fill(machine.chance, bytes) : randomFillSync(bytes)
    },
    randomUUID() {
      const machine = machineFor('a random id')
      if (!machine) return randomUUID()
      const hex = Buffer.from(fill(machine.chance, Buffer.alloc(16))).toString('hex')
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
    },
  })
}

function installFiles(): void {
  const { copyFile, mkdir, open, rename, rm, stat } = files
  const { createReadStream } = fs
  /** On a machine ours, which is over at once; otherwise Node's. */
  const either =
    <Parameters extends unknown[]>(real: (...parameters: Parameters) => unknown, ours: VirtualCall<Parameters>) =>
    (...parameters: Parameters) => {
      const machine = machineFor('a file')
      if (!machine) return real(...parameters)
      return machine.isAlive
        ? answered(
            machine,
            asPromise(() => ours(machine.files, ...parameters)),
          )
        : never
    }
  Object.assign(files, {
    stat: either(stat, (disk, path) => disk.stat(String(path))),
    rename: either(rename, (disk, from, to) => disk.rename(String(from), String(to))),
    copyFile: either(copyFile, (disk, from, to) => disk.copy(String(from), String(to))),
    rm: either(rm, (disk, path) => disk.remove(String(path))),
    mkdir: either(mkdir as (path: string) => unknown, () => undefined),
    // Opened to be synced alone: a disk in memory has everything at once.
    open: either(open as (path: string) => unknown, () => ({
      sync: async () => undefined,
      close: async () => undefined,
    })),
  })
  Object.assign(fs, {
    createReadStream(path: string, options: { start?: number; end?: number } = {}) {
      const machine = machineFor('a file')
      if (!machine) return createReadStream(path, options)
      const bytes = machine.files.read(path).subarray(options.start ?? 0, (options.end ?? Number.MAX_SAFE_INTEGER) + 1)
      return Readable.from([bytes])
    },
  })
}

type VirtualCall<Parameters extends unknown[]> = (disk: VirtualFiles, ...parameters: Parameters) => unknown

const asPromise = async <Value>(run: () => Value): Promise<Value> => run()

/** A thread would run on real time. */
function installThreads(): void {
  const { Worker } = workerThreads
  const either = new Proxy(Worker, {
    construct(target, parameters, newTarget) {
      if (machineFor('a thread')) throw new Error(`A simulated service starts no thread (${whereFrom()}).`)
      return Reflect.construct(target, parameters, newTarget)
    },
  })
  Object.assign(workerThreads, { Worker: either })
}
