import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { KeyNeeds, KeyOrder, NewCustomerKey } from '#access/keys/api-keys.ts'
import type { ListedKey } from '#access/keys/shown-key.ts'
import { formatUsd, type MicroUsd, parseUsd } from '#contract/money.ts'
import { keyRoles } from '#contract/operations/keys.ts'
import type { BudgetPeriod, KeyBudget } from '#ledger/store/account-ops.ts'
import { CliError, type CommandIo, wrongUsage } from '../command.ts'
import type { Secrets } from '../data/folder-secrets.ts'
import { type LedgerPlace, openLedger, openReader, requireSecrets, withSameSchema } from '../data/ledger-place.ts'
import {
  type AdminRecord,
  askService,
  folderAskMs,
  folderWaitMs,
  openWhenFree,
  runningService,
  ServiceGone,
  wrongSecret,
} from '../data/service-admin.ts'
import { sayAudit } from './say-ledger.ts'

/** The part of a service that operator's commands need. */
interface Operator {
  /** `usd` is decimal text; without an account a new customer is made. */
  createKey(order: KeyOrder & { usd: string }): Promise<NewCustomerKey>
  /** Null takes the limits away. */
  setBudget(id: string, budget: KeyBudget | null): Promise<void>
  listKeys(account?: string): Promise<ListedKey[]>
  revokeKey(id: string): Promise<void>
  /** Lets the ledger take debits again. Throws what still does not add up. */
  reopenLedger(): Promise<void>
  close(): Promise<void>
}

/** The running service where there is one, because one process owns a folder; else the ledger itself. */
export async function openOperator(ledger: LedgerPlace): Promise<Operator> {
  // PostgreSQL is not one process's own; and the service that runs on the folder may be on another ledger.
  if (ledger.database.engine === 'postgres') return openOnLedger(ledger, await requireSecrets(ledger))
  const endMs = performance.now() + folderWaitMs
  const open = async (): Promise<Operator> => {
    const running = await runningService(ledger.folder)
    return running ? askedOperator(running, reopen) : openOnLedger(ledger, await requireSecrets(ledger))
  }
  // A service that was starting is asked once it runs.
  const openSoon = () => openWhenFree(ledger.folder, open, async () => undefined)
  const reopen = async (error: ServiceGone) => {
    if (performance.now() >= endMs) throw error
    await sleep(folderAskMs)
    return openSoon()
  }
  return openSoon()
}

const Created = z.object({ key: z.string(), keyId: z.string(), account: z.string() })
const Listed = z.array(
  z.object({
    id: z.string(),
    account: z.string(),
    prefix: z.string(),
    role: z.enum(keyRoles).default('INFERENCE'),
    label: z.string(),
    createdAtMs: z.number(),
    expiresAtMs: z.number().nullable(),
    revokedAtMs: z.number().nullable(),
    needs: z.enum(['current', 'former', 'missing', 'unmarked']) satisfies z.ZodType<KeyNeeds>,
    budget: z
      .object({
        period: z.enum(['epoch', 'month', 'lifetime']),
        usd: z.string().nullable(),
        staking: z.string().nullable(),
      })
      .nullable(),
  }),
)

/** Asks the running service. Where that has just ended, `reopen` finds who has the folder now. */
function askedOperator(running: AdminRecord, reopen: (error: ServiceGone) => Promise<Operator>): Operator {
  const ask = (path: string, body: unknown) => askService(running, path, body)
  const orReopened = async <Answer>(asked: Promise<Answer>, again: (operator: Operator) => Promise<Answer>) => {
    try {
      return await asked
    } catch (error) {
      if (!(error instanceof ServiceGone)) throw error
      const other = await reopen(error)
      return await again(other).finally(() => other.close())
    }
  }
  const told = (path: string, body: unknown) => ask(path, body).then(() => undefined)
  return {
    createKey(order) {
      const { amountMicroUsd: _, budget, ...rest } = order
      const sent = { ...rest, ...(budget ? { budget: sentBudget(budget) } : {}) }
      const asked = ask('/admin/v1/keys', sent).then(answer => Created.parse(answer))
      return orReopened(asked, other => other.createKey(order))
    },
    setBudget: (key, budget) =>
      orReopened(told('/admin/v1/keys/budget', { key, budget: budget && sentBudget(budget) }), other =>
        other.setBudget(key, budget),
      ),
    listKeys(account) {
      const asked = ask('/admin/v1/keys/list', account === undefined ? {} : { account })
      return orReopened(
        asked.then(answer => Listed.parse(answer)),
        other => other.listKeys(account),
      )
    },
    revokeKey: key => orReopened(told('/admin/v1/keys/revoke', { key }), other => other.revokeKey(key)),
    reopenLedger: () => orReopened(told('/admin/v1/ledger/reopen', {}), other => other.reopenLedger()),
    close: async () => undefined,
  }
}

export interface LedgerOperator extends Operator {
  /** Of every key that still counts, how many need which of these secrets. */
  needs(): Promise<Record<KeyNeeds, number>>
  /** Throws where the ledger expects another secret. */
  requireSecret(): Promise<void>
  /** Notes a secret that has replaced the one the ledger knew, while that is kept. */
  noteSecret(secrets: Secrets): Promise<void>
  /** Makes the ledger use another secret, whatever it knew. */
  replaceSecret(secrets: Secrets): Promise<void>
}

/** Opens the ledger to write. */
export async function openOnLedger(ledger: LedgerPlace, secrets: Secrets): Promise<LedgerOperator> {
  const [
    { ApiKeys, KeyRefused, createKey },
    { WrongSecret, marksOf, noteSecret, placeOf, replaceSecret },
    { listedKey, refusalSentence },
    { systemClock },
  ] = await Promise.all([
    import('#access/keys/api-keys.ts'),
    import('#access/keys/server-secret.ts'),
    import('#access/keys/shown-key.ts'),
    import('#contract/time.ts'),
  ])
  const store = await openLedger(ledger)
  const [current, ...former] = secrets.map(secret => Buffer.from(secret))
  const keys = new ApiKeys({ store, clock: systemClock, serverSecrets: [current ?? Buffer.alloc(0), ...former] })
  const inWords = (error: unknown): never => {
    if (error instanceof WrongSecret) throw wrongSecret(error)
    if (!(error instanceof KeyRefused)) throw error
    throw new CliError(refusalSentence(error), 'Check the arguments, then repeat this.')
  }
  const now = () => systemClock.now()
  return {
    createKey: (order: KeyOrder) => createKey({ keys, now }, order).catch(inWords),
    setBudget: (id, budget) => keys.setBudget(id, budget).catch(inWords),
    listKeys: async account => (await keys.list(account).catch(inWords)).map(listedKey),
    revokeKey: id => keys.revoke(id).catch(inWords),
    async reopenLedger() {
      const { LedgerWatch } = await import('#ledger/ledger-watch.ts')
      const watch = new LedgerWatch({ store, clock: systemClock, log: { info() {}, warn() {}, error() {} } })
      const { state, reason } = await watch.reopen()
      if (state === 'read_only') throw new CliError(`The ledger stays read-only: ${reason}`, 'Audit them again.')
    },
    needs: () => keys.needs(),
    requireSecret: () => keys.requireSecret().catch(inWords),
    noteSecret: secrets =>
      noteSecret(store, marksOf(secrets), placeOf(dirname(ledger.folder.secret)), now()).catch(inWords),
    replaceSecret: secrets => replaceSecret(store, marksOf(secrets)[0], placeOf(dirname(ledger.folder.secret)), now()),
    close: () => store.close(),
  }
}

/** The flags of a key's budget. */
export const budgetOptions = {
  'budget-usd': { type: 'string' },
  'budget-staking': { type: 'string' },
  period: { type: 'string' },
} as const

interface BudgetValues {
  'budget-usd'?: string | undefined
  'budget-staking'?: string | undefined
  period?: string | undefined
}

const periods: readonly BudgetPeriod[] = ['epoch', 'month', 'lifetime']

/** Null where none of the flags is there. Throws what is wrong with them. */
export function budgetOf(values: BudgetValues, command: string): KeyBudget | null {
  const [usd, staking] = (['budget-usd', 'budget-staking'] as const).map(flag => limitOf(values, flag, command))
  if (usd === undefined || staking === undefined || (usd === null && staking === null)) {
    if (values.period === undefined) return null
    throw wrongUsage(command, '`--period` needs `--budget-usd` or `--budget-staking`')
  }
  const period = periods.find(each => each === values.period)
  if (!period) throw wrongUsage(command, periodProblem(values.period))
  return { period, usd, staking }
}

const periodProblem = (given: string | undefined): string =>
  given === undefined
    ? 'A budget needs `--period`: epoch (a UTC day), month or lifetime'
    : `\`--period\` takes epoch (a UTC day), month or lifetime, not \`${given.slice(0, 40)}\``

function limitOf(values: BudgetValues, flag: 'budget-usd' | 'budget-staking', command: string): MicroUsd | null {
  const text = values[flag]
  if (text === undefined) return null
  const limit = parseUsd(text)
  if (limit === null || limit < 0n) throw wrongUsage(command, `\`--${flag}\` takes an amount such as 5 or 0.25, or 0`)
  return limit
}

/** As the service's own commands take it. */
function sentBudget({ period, usd, staking }: KeyBudget) {
  const text = (limit: MicroUsd | null) => (limit === null ? null : formatUsd(limit))
  return { period, usd: text(usd), staking: text(staking) }
}

/** Lets the ledger take debits again, after an audit that finds nothing. Answers the command's end. */
export async function reopenLedger(ledger: LedgerPlace, io: CommandIo): Promise<number> {
  const reader = await openReader(ledger)
  try {
    const { audit } = await import('#ledger/audit/audit.ts')
    const report = await withSameSchema(audit(reader))
    if (!report.ok) {
      for (const line of sayAudit(report)) io.output.print(line)
      io.output.print('The ledger was not changed. It can be reopened when an audit finds no problem.')
      return 1
    }
  } finally {
    await reader.close()
  }
  const operator = await openOperator(ledger)
  try {
    await operator.reopenLedger()
    io.output.print('The ledger adds up and is open.')
    return 0
  } finally {
    await operator.close()
  }
}
