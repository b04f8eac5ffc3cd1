import { randomBytes } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { flushCompileCache } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { WrongSecret } from '#access/keys/server-secret.ts'
import { jsonOf } from '#contract/wire/json.ts'
import type { Log } from '#host/log.ts'
import { isSameSecret, proofOfSecret, type ServerEnd } from '#host/signatures/signatures.ts'
import type { StoreError } from '#ledger/store/store.ts'
import type { MediaUnusable } from '#media/media-store.ts'
import { CliError } from '../command.ts'
import { type DataFolder, readFileIfThere } from './data-folder.ts'

/** The file through which operators' commands find a running service. */
export const AdminRecord = z.object({ url: z.url(), token: z.string(), pid: z.number().int() })
export type AdminRecord = z.output<typeof AdminRecord>

/**
 * Returns the service that runs on a folder, or null if none does. A record left by a killed process does not count.
 */
export async function runningService(folder: DataFolder): Promise<AdminRecord | null> {
  const text = await readFileIfThere(folder.admin)
  if (text === null) return null
  const record = AdminRecord.safeParse(jsonOf(text))
  return record.success && isAlive(record.data.pid) ? record.data : null
}

/** For a command that needs a running service. */
export const noServiceIn = ({ root }: DataFolder): CliError =>
  new CliError(`No service is running in ${root}.`, 'Start it with `farebox serve`, or give its folder with `--data`.')

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const adminTimeoutMs = 15_000

export const noAnswer = [
  'The service of this folder does not answer.',
  'If it runs in another container, run the command there. Otherwise restart it, then try again.',
] as const

/** It received no command: it is starting or ending, or was killed. */
export class ServiceGone extends CliError {}

/** It received the request and may have executed it. */
export class AnswerLost extends CliError {}

const post = (url: string, order: Pick<RequestInit, 'headers' | 'body'> = {}): Promise<Response> =>
  fetch(url, { method: 'POST', redirect: 'error', signal: AbortSignal.timeout(adminTimeoutMs), ...order })

const send = (token: string, url: string, body: unknown): Promise<Response> =>
  post(url, {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

const challengeBytes = 32
const Proof = z.object({ proof: z.string() })

const gone = (): never => {
  throw new ServiceGone(...noAnswer)
}

/**
 * Where the record's URL leads. A name, such as `localhost`, may have several addresses; the token must go to the one
 * that proved itself.
 */
async function serverOf({ url }: AdminRecord): Promise<ServerEnd & { origin: string }> {
  const { hostname, port } = new URL(url)
  const { address, family } = await lookup(hostname.replace(/^\[|\]$/g, '')).catch(gone)
  return {
    address,
    port: Number(port || 80),
    origin: `http://${family === 6 ? `[${address}]` : address}:${port || 80}`,
  }
}

/**
 * Returns the origin of the record's service once it has proved itself, or null if another program listens there: a
 * service that was killed leaves its record, and by now another program may have its process number, or its port. Sends
 * no secret. Throws `ServiceGone` if nothing answers.
 */
async function provenOrigin(service: AdminRecord): Promise<string | null> {
  const { origin, ...end } = await serverOf(service)
  const challenge = randomBytes(challengeBytes).toString('base64url')
  const response = await post(`${origin}/admin/v1/proof?challenge=${challenge}`).catch(gone)
  const answer = Proof.safeParse(await response.json().catch(() => null))
  // Of a service that is starting.
  if (response.status === 503) return gone()
  const isProven = answer.success && isSameSecret(answer.data.proof, proofOfSecret(service.token, challenge, end))
  return isProven ? origin : null
}

/** Whether the service of the record answers. */
export const isServing = (service: AdminRecord): Promise<boolean> =>
  provenOrigin(service).then(
    origin => origin !== null,
    () => false,
  )

/** Asks a running service to execute an operator's command. `next` is the next step if the service refuses it. */
export async function askService(
  service: AdminRecord,
  path: string,
  body: unknown,
  next = whereNamesAre,
): Promise<unknown> {
  const origin = await provenOrigin(service)
  if (origin === null)
    throw new CliError(
      `Another program answers at ${service.url}, the address of the service of this folder. Nothing was sent to it.`,
      'End that program and restart the service, then try again.',
    )
  const response = await send(service.token, `${origin}${path}`, body).catch(error => {
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
    throw code === 'ECONNREFUSED' ? new ServiceGone(...noAnswer) : new AnswerLost(...noAnswer)
  })
  const answer: unknown = await response.json().catch(() => {
    throw new AnswerLost(...noAnswer)
  })
  if (response.ok) return answer
  const refusal = Refusal.safeParse(answer)
  throw new CliError(
    refusal.success ? sentenceOf(refusal.data) : `The service refused this (${response.status}).`,
    next,
  )
}

/** The next step if the ledger does not know a key or an account. */
export const whereNamesAre = '`farebox keys list` shows the keys and their accounts.'

/** Our own service's error message. */
const Refusal = z.object({
  error: z.string(),
  issues: z.array(z.object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() })).default([]),
})

/** A service of another version may not know what this command sends, so each field is named. */
const sentenceOf = ({ error, issues }: z.output<typeof Refusal>): string =>
  issues.length ? `${error}: ${issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}` : error

/**
 * Starting a service, and stopping it with the last charges, take a few seconds; an operator's command takes a moment.
 */
export const folderWaitMs = 15_000
export const folderAskMs = 50

/**
 * Opens a folder that another process may have briefly: a command that ends soon, or a service that starts or stops.
 * `open` is retried while it throws `folder_in_use`, for at most 15 s; `goesOn` throws if waiting is useless.
 */
export async function openWhenFree<Opened>(
  folder: DataFolder,
  open: () => Promise<Opened>,
  goesOn: (folder: DataFolder) => Promise<void> = requireNoService,
): Promise<Opened> {
  const endMs = performance.now() + folderWaitMs
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!isFolderInUse(error) || performance.now() >= endMs) throw await folderFailure(error, folder)
      await goesOn(folder)
      await sleep(folderAskMs)
    }
  }
}

/** Late enough that callers who waited for the start are answered first. */
const warmAfterMs = 100

/**
 * Once the service answers, loads what the first chat and the first wallet need, so that no start waits for it. Also
 * saves the compiled code, which a start after a kill would otherwise compile again. Returns a function that stops
 * this.
 */
export function warmSoon(service: { warm(): Promise<void> }, log: Log): () => Promise<void> {
  let warming = Promise.resolve()
  const timer = setTimeout(() => {
    const failed = (error: unknown) =>
      log.warn({ err: error }, 'The modules for the first requests could not be loaded.')
    warming = service.warm().then(flushCompileCache, failed)
  }, warmAfterMs)
  return () => {
    clearTimeout(timer)
    return warming
  }
}

export const isFolderInUse = (error: unknown): boolean => isStoreError(error) && error.kind === 'folder_in_use'

/** Throws if a service runs on the folder and does not end soon. */
export async function requireNoService(folder: DataFolder): Promise<void> {
  const running = await runningService(folder)
  if (running) throw await folderTaken(folder, running)
}

/**
 * If opening a folder failed because another process has it, explains which one; other errors are returned unchanged.
 */
export async function folderFailure(error: unknown, folder: DataFolder): Promise<unknown> {
  if (isWrongSecret(error)) return wrongSecret(error)
  if (isMediaUnusable(error)) return new CliError(error.fact, error.nextStep)
  if (!isStoreError(error)) return error
  if (error.kind === 'folder_in_use') return folderTaken(folder, await runningService(folder))
  if (error.failure) return new CliError(error.failure.fact, error.failure.nextStep)
  if (error.kind === 'damaged_database') return new CliError(error.message, restoreIt)
  const { awayReason } = await import('#ledger/store/store.ts')
  const reason = error.cause === undefined ? null : awayReason(error)
  if (reason !== null) return new CliError(`The ledger cannot be written (${reason}).`, repairIt)
  return new CliError(error.message, 'Or choose another folder with `--data`.')
}

const repairIt = 'Free some space on its disk, or repair the disk or the database, then try again.'

/** How to restore a damaged ledger. */
const restoreIt =
  'Move it and the files that begin with its name away, then run `farebox restore BACKUP` with your last backup.'

/** By name, because loading the class would load the store. */
export const isStoreError = (error: unknown): error is StoreError =>
  error instanceof Error && error.name === 'StoreError'

export const isWrongSecret = (error: unknown): error is WrongSecret =>
  error instanceof Error && error.name === 'WrongSecret'

const isMediaUnusable = (error: unknown): error is MediaUnusable =>
  error instanceof Error && error.name === 'MediaUnusable'

export const wrongSecret = ({ fact, nextStep }: WrongSecret): CliError => new CliError(fact, nextStep)

async function folderTaken(folder: DataFolder, running: AdminRecord | null): Promise<CliError> {
  return !running || (await isServing(running)) ? folderInUse(folder, running) : mayServe(folder, running)
}

/** After a crash and a restart of the machine, the record's process number belongs to any program. */
export const mayServe = ({ root, admin }: DataFolder, { pid, url }: AdminRecord): CliError =>
  new CliError(
    `The service of ${root} may still be running: process ${pid} exists, but the service does not answer at ${url}.`,
    `If it runs in another container, run the command there. If process ${pid} is farebox, stop it. If it is another program, remove ${admin}. Then try again.`,
  )

export function folderInUse(
  { root }: DataFolder,
  running: AdminRecord | null,
  platform: string = process.platform,
): CliError {
  // Windows has no signal that asks a process to stop.
  const how = platform === 'win32' ? ' with Ctrl-C in its terminal' : running ? ` with \`kill ${running.pid}\`` : ''
  return new CliError(
    running
      ? `farebox already serves the folder ${root} at ${running.url} (process ${running.pid}).`
      : `Another farebox process is using the folder ${root}.`,
    `Stop it${how}, or choose another folder with \`--data\`.`,
  )
}
