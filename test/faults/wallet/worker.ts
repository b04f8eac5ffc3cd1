import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { workMs } from './bounds.ts'
import type { Told, WorkOrder } from './work-order.ts'

const child = fileURLToPath(new URL('./paying-process.ts', import.meta.url))
const arm = new URL('./arm/arm.ts', import.meta.url).href
/** Compiled once for all of them: a round starts several, and most of a start is compiling. */
const compiled = fileURLToPath(new URL('../../../node_modules/.cache/farebox', import.meta.url))

export interface WorkEnd {
  pid: number
  wasKilled: boolean
  failures: readonly string[]
}

/** A real process with a wallet; it works through any number of orders, and dies of one at most. */
export class Worker {
  readonly #process: ChildProcess
  /** Resolves once it takes orders, or has died before. */
  readonly ready: Promise<unknown>
  readonly gone: Promise<unknown>

  constructor() {
    const env = { ...process.env, NODE_COMPILE_CACHE: compiled }
    this.#process = fork(child, { env, execArgv: ['--import', arm], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.gone = once(this.#process, 'exit')
    this.ready = Promise.race([once(this.#process, 'message'), this.gone])
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null
  }

  /** By itself, which no order asks for. */
  get endedWith(): number | null {
    return this.#process.exitCode
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }

  answer(): void {
    if (this.#process.connected) this.#process.send('heard', () => undefined)
  }

  async work(order: WorkOrder, onTold: (told: Told) => void): Promise<WorkEnd> {
    const { pid } = this
    return new Promise(resolve => {
      const end = (wasKilled: boolean, failures: readonly string[]) => {
        clearTimeout(deadline)
        this.#process.off('message', listen)
        this.#process.off('exit', died)
        resolve({ pid, wasKilled, failures })
      }
      const listen = (message: unknown) => {
        const told = message as Told
        onTold(told)
        if (told.kind === 'done') end(false, told.failures)
      }
      const died = (code: number | null) => end(code === null, code === null ? [] : [`A wallet ended with ${code}.`])
      const deadline = setTimeout(() => {
        end(false, [`A wallet was at work for longer than ${workMs / 1_000} s.`])
        this.kill()
      }, workMs)
      this.#process.on('message', listen)
      this.#process.once('exit', died)
      this.#process.send(order, () => undefined)
    })
  }

  async end(): Promise<void> {
    if (!this.isRunning) return
    this.kill()
    await this.gone
  }
}

/** Processes that are at hand, because a start costs more than what most of them are asked for. */
export class Crew {
  #workers: Worker[] = []
  #isEnding = false

  /** This many processes take orders; a killed one is replaced at once, while the others still work. */
  async take(count: number): Promise<Worker[]> {
    this.#workers = this.#workers.filter(worker => worker.isRunning)
    while (this.#workers.length < count) this.#add()
    const taken = this.#workers.slice(0, count)
    await Promise.all(taken.map(worker => worker.ready))
    const failed = taken.find(worker => worker.endedWith !== null)
    if (failed) throw new Error(`A wallet ended with ${failed.endedWith} before it had an order.`)
    // One that was killed late for an order before is none any more.
    return taken.every(worker => worker.isRunning) ? taken : this.take(count)
  }

  async end(): Promise<void> {
    this.#isEnding = true
    await Promise.all(this.#workers.map(worker => worker.end()))
  }

  #add(): void {
    const worker = new Worker()
    this.#workers.push(worker)
    void worker.gone.then(() => {
      this.#workers = this.#workers.filter(each => each !== worker)
      if (!this.#isEnding && worker.endedWith === null) this.#add()
    })
  }
}
