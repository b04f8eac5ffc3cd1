import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request as ask, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { launcher } from '../../build/built-product.ts'

const Ready = z.object({ url: z.url(), tokenFile: z.string() })

export interface Product {
  /** Of `farebox mcp --http` itself, where the token is asked for. */
  url: string
  token: string
  /** Its wallet's. */
  folder: string
  /** Of a door before it that shows the token for programs that cannot. */
  openUrl: string
  close(): Promise<void>
}

/** As under npm, it ends with its parent, even if a test was cut off. */
const atHome = (folder: string) => ({
  PATH: '',
  FAREBOX_DATA: folder,
  XDG_STATE_HOME: folder,
  FAREBOX_OUTPUT_DIR: join(folder, 'files'),
  npm_lifecycle_event: 'test',
})

/** `farebox mcp --http` as a user starts it; without a wallet and a service unless `env` has them. */
export async function spawnProduct(env: Readonly<Record<string, string>> = {}): Promise<Product> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-mcp-'))
  const child = spawn(process.execPath, [launcher, 'mcp', '--http', '--port', '0', '--json'], {
    env: { ...atHome(folder), ...env },
    // It logs each request that the suite spoils on purpose.
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(child, 'close')
  // Whatever has failed, nothing of it is left.
  const end = async () => {
    child.kill('SIGTERM')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const lines = createInterface({ input: child.stdout })
    const [first] = (await Promise.race([once(lines, 'line'), ended.then(() => [''])])) as [string]
    if (first === '') throw new Error('farebox mcp --http did not start')
    const { url, tokenFile } = Ready.parse(JSON.parse(first))
    const token = (await readFile(tokenFile, 'utf8')).trim()
    const door = await openDoor(url, token)
    return { url, token, folder, openUrl: door.url, close: () => door.close().finally(end) }
  } catch (error) {
    await end()
    throw error
  }
}

/** Hands everything on as it is, the host and the origin too, with the token added. */
async function openDoor(url: string, token: string): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${token}` }
    const onward = ask(url, { method: request.method, headers }, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    onward.once('error', () => response.destroy())
    response.once('close', () => onward.destroy())
    request.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
