import { chmod, mkdir, truncate, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { lockFolderOf } from '#ledger/store/sqlite/connection.ts'
import { createKeyFile } from '#wallet/keys/key-file.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { runCommand } from '../cli/run-command.ts'
import { answerJson } from '../client/little-server.ts'
import { localServer } from '../local-server.ts'

/** Where one mistake is made: an empty folder, and what has to end after it. */
export interface Place {
  folder: string
  closing: (() => Promise<unknown>)[]
}

/** One mistake of ten minutes with the terminal. */
export interface Mistake {
  /** As it is typed behind `farebox`. */
  typed: string
  env?: Record<string, string>
  /** At a terminal, with these lines typed at its questions. */
  answers?: readonly string[]
  /** Answers settings and arguments that are known only now, as `{name}` in `typed` and `env`. */
  before?(place: Place): Promise<Record<string, string>>
  code: 1 | 2
  /** What the sentence has of what is wrong. */
  wrong: string
  /** What it has of what is allowed; null where there is one way on, which is the next step. */
  allowed: string | null
  /** What it has of what to do. */
  next: string
}

type More = Pick<Mistake, 'env' | 'answers' | 'before'>
type Parts = [typed: string, wrong: string, allowed: string | null, next: string, more?: More]

/** Wrong usage, which ends with 2. */
export const usage = (...[typed, wrong, allowed, next, more]: Parts): Mistake => ({
  typed,
  wrong,
  allowed,
  next,
  code: 2,
  ...more,
})

/** A failure, which ends with 1. */
export const fails = (...[typed, wrong, allowed, next, more]: Parts): Mistake => ({
  typed,
  wrong,
  allowed,
  next,
  code: 1,
  ...more,
})

export const walletDir = { FAREBOX_DATA: '{folder}/wallet' }
export const noService = { ...walletDir, FAREBOX_BASE_URL: 'http://127.0.0.1:9/api/v1' }
export const passphrase = 'correct horse battery staple'

export async function withLedger({ folder }: Place) {
  await folderSecrets(dataFolder(join(folder, 'service')))
  await runCommand(['keys', 'create', '--usd', '1', '--data', join(folder, 'service')])
  return {}
}

export async function withWallet({ folder }: Place) {
  await createKeyFile(join(folder, 'wallet'), passphrase)
  return {}
}

export const file =
  (name: string, text: string, mode = 0o600) =>
  async (place: Place) => {
    const path = join(place.folder, name)
    await mkdir(join(path, '..'), { recursive: true })
    await writeFile(path, text)
    await chmod(path, mode)
    return { path }
  }

export async function takenPort({ closing }: Place) {
  const server = await localServer(() => undefined)
  closing.push(server.close)
  return { port: String(server.port) }
}

/** A service that this wallet or key may use, and an agent's settings for it. */
export const service =
  (given: Parameters<typeof pretendService>[0] = {}) =>
  async ({ closing }: Place) => {
    const opened = await pretendService(given)
    closing.push(() => opened.close())
    return { url: opened.baseUrl }
  }

/** As another process has it. */
export async function withLock(place: Place) {
  await withLedger(place)
  const lock = lockFolderOf(dataFolder(join(place.folder, 'service')).database)
  place.closing.push(async () => lock.release())
  return {}
}

/** A backup of another folder. */
export async function copyOf({ folder }: Place) {
  const [data, path] = [join(folder, 'other'), join(folder, 'copy.db')]
  await folderSecrets(dataFolder(data))
  await runCommand(['keys', 'create', '--usd', '1', '--data', data])
  await runCommand(['backup', path, '--data', data])
  return { path }
}

export async function damagedLedger(place: Place) {
  await withLedger(place)
  await writeFile(dataFolder(join(place.folder, 'service')).database, 'no database at all\n'.repeat(100))
  return {}
}

/** Sparse, in the folder that tools read. */
export async function largeFile(place: Place) {
  const path = join(place.folder, 'wallet/output/talk.mp3')
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, '')
  await truncate(path, 2_000_000_000)
  return { path, ...(await service()(place)) }
}

export function refuseKey(_seen: unknown, response: ServerResponse): boolean {
  answerJson(response, 401, { error: 'Authentication failed' })
  return true
}

export const atService = { ...walletDir, FAREBOX_BASE_URL: '{url}', FAREBOX_API_KEY: 'fb_of_a_test' }

export const model = (upstream: string, more = '') => `publicUrl: http://127.0.0.1:8402
models:
  - id: one
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }
    upstreams: [${upstream}]
${more}`

/** As a portal of a hotel or a proxy answers, whatever is asked. */
export const answerHtml =
  (status: number) =>
  (_seen: unknown, response: ServerResponse): boolean => {
    response.writeHead(status, { 'content-type': 'text/html' }).end('<!doctype html><h1>Welcome</h1>')
    return true
  }

/** A service whose clock is a year behind, and which takes no sign-in of another day. */
export function refuseByClock(_seen: unknown, response: ServerResponse): boolean {
  response.setHeader('date', new Date(Date.now() - 366 * 86_400_000).toUTCString())
  return refuseKey(_seen, response)
}
