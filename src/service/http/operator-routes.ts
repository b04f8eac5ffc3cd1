import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { type ApiKeys, createKey, KeyRefused, mostGrantUsd } from '#access/keys/api-keys.ts'
import { WrongSecret } from '#access/keys/server-secret.ts'
import { listedKey, refusalSentence } from '#access/keys/shown-key.ts'
import { lowered } from '#contract/errors/as-clause.ts'
import { authenticationFailed, forbidden, invalidRequest } from '#contract/errors/errors.ts'
import { StandardError } from '#contract/errors/failures.ts'
import { describeIssues } from '#contract/errors/issues.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { jsonDepth } from '#contract/limits.ts'
import { formatUsd, parseUsd } from '#contract/money.ts'
import { keyRoles } from '#contract/operations/keys.ts'
import { retryAfter } from '#contract/wire/headers.ts'
import { parseJson } from '#contract/wire/json.ts'
import { isSameSecret, proofOfSecret } from '#host/signatures/signatures.ts'
import { amountMicroUsd, nameCharacters } from '#ledger/bounds.ts'
import type { Charges } from '#ledger/charges/charges.ts'
import type { LedgerState, LedgerWatch } from '#ledger/ledger-watch.ts'
import type { KeyBudget } from '#ledger/store/account-ops.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { OperatorRefused } from '#operator/operator-refused.ts'
import { NotAnswered, type OperatorContext } from '#operator/queries/operator-context.ts'
import { type OperatorRole, operatorRoles } from '#pages/console/wire.ts'
import { sendJson, sendText } from './body/send.ts'
import type { Exchange } from './exchange.ts'
import type { Service } from './service.ts'
import type { ServiceMetrics } from './service-metrics.ts'

/** A probe's answer: a status and its body. */
export interface Probe {
  status: number
  body: { status: string; ledger: LedgerState['state'] | 'unknown'; reason?: string }
}

const noAnswer = { state: 'unknown', reason: 'The database does not answer.' } as const

interface ProbedParts extends Pick<Service, 'ledger' | 'store' | 'clock'> {
  settings: { mediaFolder: string }
}

/** Answers `/healthz` and `/readyz`. Probes have short timeouts, so neither waits longer than `waitMs`. */
export class Probes {
  readonly #parts: ProbedParts
  readonly #waitMs: number
  #written: { atMs: number; problem: Promise<string | null> } | null = null

  constructor(parts: ProbedParts, waitMs = probePatienceMs) {
    this.#parts = parts
    this.#waitMs = waitMs
  }

  /** Whether the process is alive. A failure would cause a restart, which fixes neither its database nor its disk. */
  async liveness(): Promise<Probe> {
    const { state } = await this.#state()
    return { status: 200, body: { status: 'ok', ledger: state } }
  }

  /** Whether this process should get new calls: the ledger is open, and a charge could be written now. */
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

  /** Tests with a write, because a full or read-only disk can still be read. Concurrent probes share one write. */
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

/** Returns why the media folder could not be written; null if it could. */
async function diskProblem(mediaFolder: string): Promise<string | null> {
  const folder = dirname(mediaFolder)
  try {
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < leastFreeBytes) return 'The disk of the data folder is full.'
    await access(folder, constants.W_OK)
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A service on PostgreSQL creates its folder with its first file.
    if (code === 'ENOENT') return null
    return code === 'EROFS' ? 'The disk of the data folder is read-only.' : 'The data folder cannot be written to.'
  }
}

/** How long a probe waits for the database; probes time out after one to five seconds. */
const probePatienceMs = 1_000

/** Probes arrive every second or so, several at once; each write costs a sync of the disk. */
export const probeWriteEveryMs = 1_000

/** With less free space a finished video may not fit, and the database's log cannot grow. */
const leastFreeBytes = 16 * 1024 * 1024

/**
 * Lets an operator's commands reach a running service, because only one process may own a SQLite folder. Only from this
 * machine, with a token next to the data that only its owner can read.
 */
export interface Admin {
  token: string
  store: Store
  keys: ApiKeys
  ledger: LedgerWatch
  /** Operators' queries and actions. */
  operator: OperatorContext
  /** Null while the console has no address. */
  openedConsole: () => ConsoleLinks | null
  /** The amount written off since the service started. */
  writeOffs: () => Charges['writeOffs']
  now: () => number
}

/** Lets operators into the console. */
interface ConsoleLinks {
  /** Returns a link that works once. */
  link(operator: { role?: OperatorRole | undefined; by: string; named?: boolean | undefined }): Promise<string>
  /** Returns the number of sessions. */
  signOutAll(): Promise<number>
}

/** Largest body of the admin API; it comes from our own commands. */
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

/** What a key may spend in each period; null is unlimited. */
const Budget = z.strictObject({
  period: z.enum(['epoch', 'month', 'lifetime']),
  usd: Limit.default(null),
  staking: Limit.default(null),
})

const name = z.string().min(1).max(nameCharacters)

/** The user who runs the command, for the audit log; other programs with the token need not name one. */
const actor = name.default('operator')

/** The commands, by the end of their path. */
const commands = {
  keys: z.strictObject({
    usd: z.string().refine(isGrant, `an amount of USD such as 5 or 0.25, at most ${mostGrantUsd}`),
    label: z.string().max(100),
    role: z.enum(keyRoles).optional(),
    account: name.optional(),
    budget: Budget.optional(),
    expiresAtMs: z.number().int().positive().optional(),
    actor,
  }),
  'keys/budget': z.strictObject({ key: name, budget: Budget.nullable(), actor }),
  'console/link': z.strictObject({ role: z.enum(operatorRoles).optional(), by: name, named: z.boolean().optional() }),
  'console/sign-out': z.strictObject({}),
  'keys/list': z.strictObject({ account: name.optional() }),
  'keys/revoke': z.strictObject({ key: name, actor }),
  operator: z.strictObject({ operation: name, input: z.unknown(), actor: name }),
  ledger: z.strictObject({}),
  'ledger/reopen': z.strictObject({ actor }),
} as const

type CommandName = keyof typeof commands
type Body<Name extends CommandName> = z.output<(typeof commands)[Name]>

const adminPath = '/admin/v1/'
/** Answers a challenge, so that a command sends the token to no other program that listens here. */
const proofCommand = 'proof'
export const adminPaths = [proofCommand, ...Object.keys(commands)].map(command => `${adminPath}${command}`)

/**
 * Runs one of the operator's commands. Throws `ServiceError`s; wrong tokens count towards the block of their address.
 */
export async function answerAdmin(
  exchange: Exchange,
  { request, socket }: { request: Request; socket: Socket | undefined },
  admin: Admin,
): Promise<Response> {
  // A proxy on this machine has the machine's address, and no command comes through a proxy.
  if (exchange.isForwarded || !(isLoopback(exchange.address) || isFromItself(socket))) throw forbidden()
  const { pathname, searchParams } = new URL(request.url)
  const command = pathname.slice(adminPath.length)
  if (command === proofCommand) {
    const { localAddress: address, localPort: port } = socket ?? {}
    if (address === undefined || port === undefined) throw forbidden()
    const challenge = searchParams.get('challenge') ?? ''
    return sendJson(exchange, 200, { proof: proofOfSecret(admin.token, challenge, { address, port }) })
  }
  if (!isSameSecret(request.headers.get('authorization') ?? '', `Bearer ${admin.token}`)) throw authenticationFailed()
  exchange.isExempt = true
  try {
    return await sendJson(exchange, 200, await run(command as CommandName, await request.text(), admin))
  } catch (error) {
    if (error instanceof WrongSecret) throw invalidRequest({ error: error.message })
    if (error instanceof KeyRefused) throw invalidRequest({ error: refusalSentence(error) })
    if (error instanceof OperatorRefused) throw invalidRequest({ error: error.message })
    if (error instanceof NotAnswered) throw operatorsWait(error)
    throw error
  }
}

const operatorsWait = ({ message, retryAfterSeconds }: NotAnswered): ServiceError =>
  new ServiceError(
    { kind: 'OPERATORS_WAIT', status: 503, body: StandardError, retry: 'later' },
    { error: message },
    { [retryAfter.name]: retryAfter.format(retryAfterSeconds) },
  )

async function run(command: CommandName, body: string, admin: Admin): Promise<unknown> {
  switch (command) {
    case 'console/link':
      return { link: await openConsole(admin).link(read(command, body)) }
    case 'console/sign-out':
      return { sessions: await openConsole(admin).signOutAll() }
    case 'keys': {
      const { usd, label, role, account, budget, expiresAtMs, actor } = read(command, body)
      const more = {
        ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
        ...(account === undefined ? {} : { account }),
        ...(budget ? { budget: budgetOf(budget) } : {}),
        ...(role ? { role } : {}),
      }
      return createKey(admin, { amountMicroUsd: parseUsd(usd) ?? 0n, label, ...more, by: { actor } })
    }
    case 'keys/budget': {
      const { key, budget, actor } = read(command, body)
      await admin.keys.setBudget(key, budget && budgetOf(budget), { by: { actor } })
      return { changed: true }
    }
    case 'keys/list':
      return admin.keys.list(read(command, body).account).then(keys => keys.map(listedKey))
    case 'keys/revoke': {
      const { key, actor } = read(command, body)
      await admin.keys.revoke(key, { actor })
      return { revoked: true }
    }
    case 'operator': {
      const { operation, input, actor } = read(command, body)
      const { callOperator, isOperatorOperation } = await import('#operator/queries/call-operator.ts')
      if (!isOperatorOperation(operation)) throw invalidRequest({ error: 'This service does not have that operation.' })
      return callOperator(admin.operator, operation, input as never, actor)
    }
    case 'ledger': {
      const { charges, microUsd } = admin.writeOffs()
      return { ...(await admin.ledger.state()), writeOffs: { charges, usd: formatUsd(microUsd) } }
    }
    case 'ledger/reopen': {
      const { state, reason } = await admin.ledger.reopen(read(command, body).actor)
      if (state === 'read_only') throw invalidRequest({ error: `The ledger stays read-only: ${lowered(reason)}` })
      return { state }
    }
  }
}

function openConsole(admin: Admin): ConsoleLinks {
  const links = admin.openedConsole()
  if (!links) throw invalidRequest({ error: 'This service has no console; `admin` in its configuration is false.' })
  return links
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

/** A service may listen only on another address of its machine; a command there comes from that same address. */
const isFromItself = (socket: Socket | undefined): boolean =>
  socket?.remoteAddress !== undefined && socket.remoteAddress === socket.localAddress

export interface Figures {
  metrics: Pick<ServiceMetrics, 'text' | 'contentType'>
  token: string
}

/** Sends the metrics to requests with the token: behind a proxy every caller seems to come from this machine. */
export async function answerFigures(exchange: Exchange, { metrics, token }: Figures): Promise<Response> {
  if (!isSameSecret(exchange.header('authorization')[0] ?? '', `Bearer ${token}`)) throw authenticationFailed()
  exchange.isExempt = true
  return sendText(exchange, await metrics.text(), metrics.contentType)
}
