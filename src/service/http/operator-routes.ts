import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { type ApiKeys, createKey, KeyRefused, mostGrantUsd } from '#access/keys/api-keys.ts'
import { WrongSecret } from '#access/keys/server-secret.ts'
import { listedKey, refusalSentence } from '#access/keys/shown-key.ts'
import { authenticationFailed, forbidden, invalidRequest } from '#contract/errors/errors.ts'
import { describeIssues } from '#contract/errors/issues.ts'
import { jsonDepth } from '#contract/limits.ts'
import { formatUsd, parseUsd } from '#contract/money.ts'
import { keyRoles } from '#contract/operations/keys.ts'
import { parseJson } from '#contract/wire/json.ts'
import { isSameSecret } from '#host/signatures.ts'
import { amountMicroUsd, nameCharacters } from '#ledger/bounds.ts'
import type { Charges } from '#ledger/charges/charges.ts'
import type { LedgerState, LedgerWatch } from '#ledger/ledger-watch.ts'
import type { KeyBudget } from '#ledger/store/account-ops.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { sendJson, sendText } from './body/send.ts'
import type { Exchange } from './exchange.ts'
import type { Service } from './service.ts'
import type { ServiceMetrics } from './service-metrics.ts'

/** What a probe answers: a status and its body. */
export interface Probe {
  status: number
  body: { status: string; ledger: LedgerState['state'] | 'unknown'; reason?: string }
}

const noAnswer = { state: 'unknown', reason: 'The database does not answer.' } as const

interface ProbedParts extends Pick<Service, 'ledger' | 'store' | 'clock'> {
  settings: { mediaFolder: string }
}

/** What `/healthz` and `/readyz` answer. A prober has no patience, so neither waits longer than `waitMs`. */
export class Probes {
  readonly #parts: ProbedParts
  readonly #waitMs: number
  #written: { atMs: number; problem: Promise<string | null> } | null = null

  constructor(parts: ProbedParts, waitMs = probePatienceMs) {
    this.#parts = parts
    this.#waitMs = waitMs
  }

  /** Whether the process lives: a restart would fix neither its database nor its disk. */
  async liveness(): Promise<Probe> {
    const { state } = await this.#state()
    return { status: 200, body: { status: 'ok', ledger: state } }
  }

  /** Whether new calls should come here: the ledger is open, and a charge could be written now. */
  async readiness(): Promise<Probe> {
    const { state, reason } = await this.#state()
    const problem =
      state === 'open' ? ((await diskProblem(this.#parts.settings.mediaFolder)) ?? (await this.#writes())) : reason
    if (problem === null) return { status: 200, body: { status: 'ready', ledger: state } }
    return { status: 503, body: { status: 'not ready', ledger: state, reason: problem } }
  }

  #state(): Promise<LedgerState | typeof noAnswer> {
    return this.#within(
      this.#parts.ledger.state().catch(() => noAnswer),
      noAnswer,
    )
  }

  /** Asked by a write, because a full or read-only disk can still be read. Many probers share one write. */
  #writes(): Promise<string | null> {
    const atMs = this.#parts.clock.now()
    if (!this.#written || atMs - this.#written.atMs >= probeWriteEveryMs) {
      const refused = 'The database accepts no writes.'
      this.#written = {
        atMs,
        problem: this.#within(
          this.#write(atMs).catch(() => refused),
          'The database does not answer a write.',
        ),
      }
    }
    return this.#written.problem
  }

  /** The row is pruned with the nonces. */
  async #write(atMs: number): Promise<null> {
    const id = `${uuidV7(atMs)}/probe`
    await this.#parts.store.commit([{ id, ops: [{ op: 'nonce', key: `probe:${id}`, expiresAtMs: atMs }] }])
    return null
  }

  async #within<Value>(answer: Promise<Value>, otherwise: Value): Promise<Value> {
    const patience = new AbortController()
    const late = sleep(this.#waitMs, otherwise, { signal: patience.signal }).catch(() => otherwise)
    try {
      return await Promise.race([answer, late])
    } finally {
      patience.abort()
    }
  }
}

/** Why finished media could not be kept in the folder that this one lies in; null where they can. */
async function diskProblem(mediaFolder: string): Promise<string | null> {
  const folder = dirname(mediaFolder)
  try {
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < leastFreeBytes) return 'The disk of the data folder is full.'
    await access(folder, constants.W_OK)
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A service on PostgreSQL makes its folder with its first file.
    if (code === 'ENOENT') return null
    return code === 'EROFS' ? 'The disk of the data folder is read-only.' : 'The data folder cannot be written to.'
  }
}

/** A probe of liveness or readiness waits no longer for the database: probers give up after one to five seconds. */
const probePatienceMs = 1_000

/** Probers come every second or so, several at once; each write costs a sync of the disk. */
export const probeWriteEveryMs = 1_000

/** With less free space a finished video may not fit, and the database's log cannot grow. */
const leastFreeBytes = 16 * 1024 * 1024

/**
 * What an operator's commands ask of a running service, because one process owns a SQLite folder.
 * Loopback only, with a token that lies beside the data, readable by its owner alone.
 */
export interface Admin {
  token: string
  store: Store
  keys: ApiKeys
  ledger: LedgerWatch
  /** What has been written off since the service started. */
  writeOffs: () => Charges['writeOffs']
  now: () => number
}

/** A body of the admin API; it comes from our own commands. */
const adminBytes = 16 * 1024

const isGrant = (text: string): boolean => {
  const amount = parseUsd(text)
  return amount !== null && amount >= 0n && amount <= BigInt(mostGrantUsd) * 1_000_000n
}

const isLimit = (text: string): boolean => {
  const amount = parseUsd(text)
  return amount !== null && amount >= 0n && amount <= amountMicroUsd
}

const Limit = z.string().refine(isLimit, 'an amount of USD such as 5 or 0.25').nullable()

/** What a key may spend in each period; null is without a limit. */
const Budget = z.strictObject({
  period: z.enum(['epoch', 'month', 'lifetime']),
  usd: Limit.default(null),
  staking: Limit.default(null),
})

const name = z.string().min(1).max(nameCharacters)

/** What may be asked, by the end of its path. */
const commands = {
  keys: z.strictObject({
    usd: z.string().refine(isGrant, `an amount of USD such as 5 or 0.25, at most ${mostGrantUsd}`),
    label: z.string().max(100),
    role: z.enum(keyRoles).optional(),
    account: name.optional(),
    budget: Budget.optional(),
  }),
  'keys/budget': z.strictObject({ key: name, budget: Budget.nullable() }),
  'keys/list': z.strictObject({ account: name.optional() }),
  'keys/revoke': z.strictObject({ key: name }),
  ledger: z.strictObject({}),
  'ledger/reopen': z.strictObject({}),
} as const

type CommandName = keyof typeof commands
type Body<Name extends CommandName> = z.output<(typeof commands)[Name]>

const adminPath = '/admin/v1/'
export const adminPaths = Object.keys(commands).map(command => `${adminPath}${command}`)

/** One command of the operator. Throws `ServiceError`s; wrong tokens count towards the block of their address. */
export async function answerAdmin(exchange: Exchange, request: Request, admin: Admin): Promise<Response> {
  // A proxy on this machine has its address, and no command comes through one.
  if (exchange.isForwarded || !isLoopback(exchange.address)) throw forbidden()
  if (!isSameSecret(request.headers.get('authorization') ?? '', `Bearer ${admin.token}`)) throw authenticationFailed()
  exchange.isExempt = true
  const command = new URL(request.url).pathname.slice(adminPath.length) as CommandName
  try {
    return await sendJson(exchange, 200, await run(command, await request.text(), admin))
  } catch (error) {
    if (error instanceof WrongSecret) throw invalidRequest({ error: error.message })
    if (error instanceof KeyRefused) throw invalidRequest({ error: refusalSentence(error) })
    throw error
  }
}

async function run(command: CommandName, body: string, admin: Admin): Promise<unknown> {
  switch (command) {
    case 'keys': {
      const { usd, label, role, account, budget } = read(command, body)
      const more = {
        ...(account === undefined ? {} : { account }),
        ...(budget ? { budget: budgetOf(budget) } : {}),
        ...(role ? { role } : {}),
      }
      return createKey(admin, { amountMicroUsd: parseUsd(usd) ?? 0n, label, ...more })
    }
    case 'keys/budget': {
      const { key, budget } = read(command, body)
      await admin.keys.setBudget(key, budget && budgetOf(budget))
      return { changed: true }
    }
    case 'keys/list':
      return admin.keys.list(read(command, body).account).then(keys => keys.map(listedKey))
    case 'keys/revoke':
      return admin.keys.revoke(read(command, body).key).then(() => ({ revoked: true }))
    case 'ledger': {
      const { charges, microUsd } = admin.writeOffs()
      return { ...(await admin.ledger.state()), writeOffs: { charges, usd: formatUsd(microUsd) } }
    }
    case 'ledger/reopen': {
      const { state, reason } = await admin.ledger.reopen()
      if (state === 'read_only') throw invalidRequest({ error: `The ledger stays read-only: ${reason}` })
      return { state }
    }
  }
}

function budgetOf({ period, usd, staking }: z.output<typeof Budget>): KeyBudget {
  const limit = (text: string | null) => (text === null ? null : parseUsd(text))
  return { period, usd: limit(usd), staking: limit(staking) }
}

function read<Name extends CommandName>(command: Name, text: string): Body<Name> {
  const parsed = text.length > adminBytes ? null : parseJson(text, jsonDepth)
  if (!parsed?.ok) throw invalidRequest({ error: 'The body is not valid JSON for this command.' })
  const body = commands[command].safeParse(parsed.value)
  if (!body.success) throw invalidRequest(describeIssues(body.error))
  return body.data as Body<Name>
}

const isLoopback = (address: string): boolean => address === '::1' || /^(::ffff:)?127\./.test(address)

export interface Figures {
  metrics: Pick<ServiceMetrics, 'text' | 'contentType'>
  token: string
}

/** The metrics, for requests with the token: behind a proxy every caller seems to come from this machine. */
export async function answerFigures(exchange: Exchange, { metrics, token }: Figures): Promise<Response> {
  if (!isSameSecret(exchange.header('authorization')[0] ?? '', `Bearer ${token}`)) throw authenticationFailed()
  exchange.isExempt = true
  return sendText(exchange, await metrics.text(), metrics.contentType)
}
