import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { launcher } from '../../build/built-product.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

export interface SpawnedServe {
  baseUrl: string
  folder: string
  child: ChildProcess
  /** Lines of its log so far. */
  log: { level: string; message: string; [fact: string]: unknown }[]
  /** Resolves once such a line is there. */
  logged(message: string): Promise<void>
  write(config: string): Promise<void>
  ended: Promise<number | null>
  dispose(): Promise<void>
}

/**
 * Starts `farebox serve` on a configuration whose port the system chooses, once the folder is prepared. Resolves once it
 * serves.
 */
export async function spawnServe(
  config: string,
  env: Record<string, string> = {},
  args: readonly string[] = [],
  prepare: (folder: string) => Promise<void> = async () => {},
): Promise<SpawnedServe> {
  const folder = temporaryFolder('serve')
  const file = join(folder, 'farebox.yaml')
  const write = (text: string) => writeFile(file, text)
  await write(config)
  await prepare(folder)
  const child = spawn(process.execPath, [launcher, 'serve', '--config', file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const log: SpawnedServe['log'] = []
  const waiting = new Map<string, () => void>()
  createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', line => {
    const told = line.startsWith('{') ? JSON.parse(line) : { level: 'plain', message: line }
    log.push(told)
    waiting.get(told.message)?.()
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  await Promise.race([
    once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line'),
    ended.then(code => Promise.reject(new Error(`It ended with ${code}: ${JSON.stringify(log)}`))),
  ])
  const { url } = JSON.parse(await readFile(join(folder, '.farebox', 'service', 'admin.json'), 'utf8')) as {
    url: string
  }
  return {
    baseUrl: `${url}/api/v1`,
    folder,
    child,
    log,
    async logged(message) {
      if (log.some(line => line.message === message)) return
      await new Promise<void>(resolve => waiting.set(message, resolve))
    },
    write,
    ended,
    async dispose() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
    },
  }
}
