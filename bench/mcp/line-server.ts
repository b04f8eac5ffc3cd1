import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

/** A server that has not answered by then is broken, in milliseconds. */
const answerMs = 20_000

/** How long a server may take to exit once its input is closed, in milliseconds, before it is killed. */
const endMs = 2_000

/** A program that speaks MCP on stdio. */
export interface ServerCommand {
  name: string
  program: string
  args: readonly string[]
  env: NodeJS.ProcessEnv
}

/** A minimal client: no library stands between the clock and the server. */
export class LineServer {
  readonly #child: ChildProcess
  readonly #name: string
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #lastId = 0
  #complaints = ''

  constructor({ name, program, args, env }: ServerCommand) {
    this.#name = name
    this.#child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child.stdin?.on('error', () => {})
    this.#child.stderr?.on('data', text => {
      this.#complaints = `${this.#complaints}${text}`.slice(-2_000)
    })
    if (this.#child.stdout) createInterface({ input: this.#child.stdout }).on('line', line => this.#read(line))
    this.#child.on('error', error => this.#fail(error.message))
    this.#child.on('exit', code => this.#fail(`it ended with ${code}`))
  }

  /** Resolves to the answer of `initialize`. */
  async initialize(): Promise<unknown> {
    const answer = await this.call('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'farebox-bench', version: '1' },
    })
    this.#send({ method: 'notifications/initialized' })
    return answer
  }

  async call(method: string, params: object): Promise<unknown> {
    this.#lastId += 1
    const id = this.#lastId
    const answer = Promise.withResolvers<unknown>()
    this.#waiting.set(id, answer)
    const late = setTimeout(() => this.#fail(`it did not answer ${method} in ${answerMs} ms`), answerMs)
    this.#send({ id, method, params })
    try {
      return await answer.promise
    } finally {
      clearTimeout(late)
      this.#waiting.delete(id)
    }
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.stdin?.end()
    const timer = new AbortController()
    await Promise.race([ended, sleep(endMs, undefined, { signal: timer.signal }).catch(() => {})])
    timer.abort()
    if (this.#child.exitCode === null) this.#child.kill('SIGKILL')
    await ended
  }

  #send(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  #read(line: string): void {
    const { id, result, error } = JSON.parse(line) as { id?: number; result?: unknown; error?: { message: string } }
    const waiting = id === undefined ? undefined : this.#waiting.get(id)
    if (error) waiting?.reject(new Error(`${this.#name} refused: ${error.message}`))
    else waiting?.resolve(result)
  }

  #fail(why: string): void {
    const said = this.#complaints.trim()
    for (const { reject } of this.#waiting.values()) {
      reject(new Error(`${this.#name} gave no answer: ${why}.${said ? `\n${said}` : ''}`))
    }
  }
}
