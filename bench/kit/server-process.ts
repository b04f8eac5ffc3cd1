import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Caller } from './load.ts'
import { onCores, serverCore } from './machine.ts'

/** How long a server may take to listen or to stop, in milliseconds; one that takes longer is broken. */
const startMs = 60_000
const endMs = 15_000

/** Short compared with any start, in milliseconds. */
const askEveryMs = 2

export interface ServerCommand {
  name: string
  port: number
  /** Answers 200 once it is serving. */
  readyPath: string
  /** Arguments of the Node that runs it. */
  args: readonly string[]
  env?: NodeJS.ProcessEnv
  /** Where it runs; the servers' core by default. */
  cores?: number | string
}

/** A server in a process of its own, on the servers' core, with none of the user's settings in its environment. */
export class ServerProcess {
  readonly name: string
  readonly port: number
  readonly #readyPath: string
  readonly #child: ChildProcess
  #errors = ''

  private constructor({ name, port, readyPath, args, env, cores = serverCore }: ServerCommand) {
    this.name = name
    this.port = port
    this.#readyPath = readyPath
    const [program, all] = onCores(cores, process.execPath, args)
    const { PATH, HOME } = process.env
    this.#child = spawn(program, all, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH, HOME, NODE_ENV: 'production', ...env },
    })
    this.#child.stderr?.on('data', text => {
      this.#errors = `${this.#errors}${text}`.slice(-4_000)
    })
  }

  /** Resolves once it is serving. */
  static async start(command: ServerCommand): Promise<ServerProcess> {
    const server = new ServerProcess(command)
    try {
      await server.#untilReady()
      return server
    } catch (error) {
      await server.stop()
      throw error
    }
  }

  async #untilReady(): Promise<void> {
    const deadline = performance.now() + startMs
    while (!(await isAnswered(this.port, this.#readyPath))) {
      this.mustRun()
      if (performance.now() > deadline)
        throw new Error(`${this.name} did not serve within ${startMs} ms. ${this.#errors}`)
      await sleep(askEveryMs)
    }
  }

  /** taskset becomes the program that it starts, so this is the server itself. */
  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Throws its stderr if it has ended. */
  mustRun(): void {
    const { exitCode, signalCode } = this.#child
    if (exitCode === null && signalCode === null) return
    throw new Error(`${this.name} ended with ${exitCode ?? signalCode}. ${this.#errors}`)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    const late = setTimeout(() => this.#child.kill('SIGKILL'), endMs)
    this.#child.kill(signal)
    await ended
    clearTimeout(late)
  }
}

/** Whether a GET on it is answered with 200. */
async function isAnswered(port: number, path: string): Promise<boolean> {
  const caller = await Caller.open(port).catch(() => null)
  if (!caller) return false
  try {
    await caller.request(Buffer.from(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`))
    return true
  } catch {
    return false
  } finally {
    caller.close()
  }
}
