import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { launcher } from '../build/built-product.ts'

/** One line of `farebox up --json`. */
export interface UpLine {
  event: string
  [member: string]: unknown
}

export interface SpawnedUp {
  baseUrl: string
  evmRpcUrl: string
  folder: string
  /** Everything that it has told so far. */
  lines: UpLine[]
  errors(): string
  /** Resolves with the exit code. */
  ended: Promise<number | null>
  stop(): Promise<void>
  /** Stops, and removes the folder. */
  dispose(): Promise<void>
}

/** Runs a command of the checkout to its end. */
export async function farebox(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [launcher, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}

/** Starts the real thing on a port of the system's choice. Resolves once it serves. */
export async function spawnUp(
  options: { folder?: string; args?: string[]; env?: NodeJS.ProcessEnv } = {},
): Promise<SpawnedUp> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'farebox-up-')))
  const args = ['up', '--port', '0', '--json', '--data', folder, ...(options.args ?? ['--no-journey'])]
  const child = spawn(process.execPath, [launcher, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  })
  const lines: UpLine[] = []
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const ready = await readyLine(child, lines, ended, () => errors)
  const stop = async () => {
    if (child.exitCode === null) child.kill('SIGTERM')
    await ended
  }
  return {
    baseUrl: String(ready.baseUrl),
    evmRpcUrl: String(ready.evmRpcUrl),
    folder,
    lines,
    errors: () => errors,
    ended,
    stop,
    async dispose() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function readyLine(
  child: ChildProcess,
  lines: UpLine[],
  ended: Promise<number | null>,
  errors: () => string,
): Promise<UpLine> {
  if (!child.stdout) throw new Error('The process has no stdout.')
  const reader = createInterface({ input: child.stdout })
  const ready = new Promise<UpLine>(resolve => {
    reader.on('line', line => {
      const parsed = JSON.parse(line) as UpLine
      lines.push(parsed)
      if (parsed.event === 'ready') resolve(parsed)
    })
  })
  const early = ended.then(code => Promise.reject(new Error(`farebox up ended with ${code}: ${errors()}`)))
  return Promise.race([ready, early])
}
