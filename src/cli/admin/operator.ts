import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { KeyNeeds, KeyOrder, NewCustomerKey } from '#access/keys/api-keys.ts'
import type { ListedKey } from '#access/keys/shown-key.ts'
import { lowered } from '#contract/errors/as-clause.ts'
import { issueSentence } from '#contract/errors/issue-sentence.ts'
import { formatUsd, type MicroUsd, parseUsd } from '#contract/money.ts'
import { keyRoles } from '#contract/operations/keys.ts'
import { silentLog } from '#host/log.ts'
import { userName } from '#host/user-name.ts'
import type { BudgetPeriod, KeyBudget } from '#ledger/store/account-ops.ts'
import type { OperatorAnswer, OperatorInput, OperatorOperation } from '#operator/queries/wire.ts'
import { CliError, type CommandIo, wrongUsage, wrongValue } from '../command.ts'
import type { Secrets } from '../data/folder-secrets.ts'
import { type LedgerPlace, openLedger, openReader, requireSecrets, withSameSchema } from '../data/ledger-place.ts'
import {
  type AdminRecord,
  AnswerLost,
  askService,
  folderAskMs,
  folderWaitMs,
  isFolderInUse,
  noServiceIn,
  openWhenFree,
  runningService,
  ServiceGone,
  whereNamesAre,
  wrongSecret,
} from '../data/service-admin.ts'
import { servicePlaceOf } from '../data/service-place.ts'
import { asJson } from '../output.ts'
import { auditLines } from './show-ledger.ts'

/** The parts of a service that operators' commands need. */
export interface Operator {
  /** `usd` is decimal text; without an account a new customer is created. */
  createKey(order: KeyOrder & { usd: string }): Promise<NewCustomerKey>
  /** Null removes the limits. */
  setBudget(id: string, budget: KeyBudget | null): Promise<void>
  listKeys(account?: string): Promise<ListedKey[]>
  revokeKey(id: string): Promise<void>
  /** Runs one of the operator's operations, in the name of the user of this terminal. */
  operate<Name extends OperatorOperation>(operation: Name, input: OperatorInput<Name>): Promise<OperatorAnswer<Name>>
  /** Lets the ledger accept debits again. Throws the problem if the ledger still does not add up. */
  reopenLedger(): Promise<void>
  close(): Promise<void>
}

/** A flag with a value that the operation does not take is wrong usage, and is reported before anything is opened. */
export async function checkInput(command: string, operation: OperatorOperation, input: object): Promise<void> {
  const { operatorOperations } = await import('#operator/queries/wire.ts')
  const [issue] = operatorOperations[operation].input.safeParse(input).error?.issues ?? []
  const flag = String(issue?.path[0] ?? '')
  const value: unknown = Reflect.get(input, flag)
  if (issue && typeof value === 'string')
    throw wrongValue(command, flag, value, issueSentence(issue).replace(/^Must be /, ''))
}

const operateOn =
  (open: (place: LedgerPlace) => Promise<Operator>) =>
  (command: string) =>
  async <Name extends OperatorOperation>(
    operation: Name,
    input: OperatorInput<Name>,
    { data }: { data?: string | undefined },
    io: CommandIo,
  ): Promise<OperatorAnswer<Name>> => {
    await checkInput(command, operation, input)
    const operator = await open(await servicePlaceOf(data, io.env))
    try {
      return await operator.operate(operation, input)
    } finally {
      await operator.close()
    }
  }

/** Runs one operation for a command, on the running service or on the ledger itself. */
export const operateBy = operateOn(place => openOperator(place))

/** Runs an operation that only a running service can do, such as asking a chain. */
export const operateOnService = operateOn(async ({ folder }) => {
  const running = await runningService(folder)
  if (!running) throw noServiceIn(folder)
  return askedOperator(running, async error => Promise.reject(error))
})

/** Opens the running service if there is one, because one process owns a folder; otherwise the ledger itself. */
export async function openOperator(ledger: LedgerPlace): Promise<Operator> {
  // PostgreSQL does not belong to one process, and the service that runs on the folder may use another ledger.
  if (ledger.database.engine === 'postgres') return openOnLedger(ledger, await requireSecrets(ledger))
  const endMs = performance.now() + folderWaitMs
  const open = async (): Promise<Operator> => {
    const running = await runningService(ledger.folder)
    return running ? askedOperator(running, reopen) : openOnLedger(ledger, await requireSecrets(ledger))
  }
  // If a service is just starting, it is asked once it runs.
  const openSoon = () => openWhenFree(ledger.folder, open, async () => undefined)
  const reopen = async (error: ServiceGone) => {
    if (performance.now() >= endMs) throw error
    await sleep(folderAskMs)
    // A service that was killed leaves its record, but not its lock; in a container, each main process has the same number.
    return openOnLedger(ledger, await requireSecrets(ledger)).catch(failure => {
      if (isFolderInUse(failure)) return openSoon()
      throw failure
    })
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
    needs: z.enum(['current', 'former', 'missing']) satisfies z.ZodType<KeyNeeds>,
    budget: z
      .object({
        period: z.enum(['epoch', 'month', 'lifetime']),
        usd: z.string().nullable(),
        staking: z.string().nullable(),
      })
      .nullable(),
  }),
)

/** For an action that the service has received. */
const lost = 'The service’s answer was lost, so it is unknown whether this was done.'
const lookFirst = 'Repeat it only if `farebox customers log` does not show it.'

/** The next step if an operation is refused. */
const whereToLook = (operation: OperatorOperation) =>
  operation.startsWith('payment')
    ? '`farebox payments list` shows the payments.'
    : '`farebox customers list` shows the customers, and `farebox customers show CUSTOMER` their latest requests.'

/** Asks the running service. If it has just ended, `reopen` finds out who has the folder now. */
function askedOperator(running: AdminRecord, reopen: (error: ServiceGone) => Promise<Operator>): Operator {
  const ask = (path: string, body: unknown, next?: string) => askService(running, path, body, next)
  const actor = actorHere()
  const orReopened = async <Answer>(asked: Promise<Answer>, again: (operator: Operator) => Promise<Answer>) => {
    try {
      return await asked
    } catch (error) {
      if (!(error instanceof ServiceGone)) throw error
      const other = await reopen(error)
      return await again(other).finally(() => other.close())
    }
  }
  const act = (path: string, body: unknown, next?: string) =>
    ask(path, body, next).catch(error => {
      throw error instanceof AnswerLost ? new AnswerLost(lost, lookFirst) : error
    })
  const actOnly = (path: string, body: unknown) => act(path, body).then(() => undefined)
  return {
    createKey(order) {
      const { amountMicroUsd: _, budget, ...rest } = order
      const sent = { ...rest, ...(budget ? { budget: sentBudget(budget) } : {}), actor }
      const asked = act('/admin/v1/keys', sent).then(answer => Created.parse(answer))
      return orReopened(asked, other => other.createKey(order))
    },
    setBudget: (key, budget) =>
      orReopened(actOnly('/admin/v1/keys/budget', { key, budget: budget && sentBudget(budget), actor }), other =>
        other.setBudget(key, budget),
      ),
    listKeys(account) {
      const asked = ask('/admin/v1/keys/list', account === undefined ? {} : { account })
      return orReopened(
        asked.then(answer => Listed.parse(answer)),
        other => other.listKeys(account),
      )
    },
    revokeKey: key => orReopened(actOnly('/admin/v1/keys/revoke', { key, actor }), other => other.revokeKey(key)),
    operate: <Name extends OperatorOperation>(operation: Name, input: OperatorInput<Name>) => {
      const send = operation.includes('.') ? act : ask
      const sent = send('/admin/v1/operator', { operation, input, actor }, whereToLook(operation))
      const asked = sent as Promise<OperatorAnswer<Name>>
      return orReopened(asked, other => other.operate(operation, input))
    },
    reopenLedger: () => orReopened(actOnly('/admin/v1/ledger/reopen', { actor }), other => other.reopenLedger()),
    close: async () => undefined,
  }
}

export interface LedgerOperator extends Operator {
  /** Returns how many active keys need these secrets. */
  needs(): Promise<Record<KeyNeeds, number>>
  /** Throws if the ledger expects another secret. */
  requireSecret(): Promise<void>
  /** Records a secret that replaces the current one, which is kept as a former one. */
  noteSecret(secrets: Secrets, act?: 'secret.rotate'): Promise<void>
  /** Makes the ledger use another secret, whatever secret it recorded. */
  replaceSecret(secrets: Secrets): Promise<void>
  /** Records that the former secrets are about to be dropped. */
  noteDrop(secrets: Secrets): Promise<void>
}

export async function openOnLedger(ledger: LedgerPlace, secrets: Secrets): Promise<LedgerOperator> {
  const [
    { ApiKeys, KeyRefused, createKey },
    { WrongSecret, marksOf, noteSecret, placeOf, replaceSecret },
    { listedKey, refusalSentence },
    { systemClock },
    { noteAct },
    { commitSurely },
    { uuidV7 },
  ] = await Promise.all([
    import('#access/keys/api-keys.ts'),
    import('#access/keys/server-secret.ts'),
    import('#access/keys/shown-key.ts'),
    import('#contract/time.ts'),
    import('#ledger/accounts/operator-acts.ts'),
    import('#ledger/store/store.ts'),
    import('#ledger/store/uuid-v7.ts'),
  ])
  const store = await openLedger(ledger)
  const [current, ...former] = secrets.map(secret => Buffer.from(secret))
  const keys = new ApiKeys({ store, clock: systemClock, serverSecrets: [current ?? Buffer.alloc(0), ...former] })
  const inWords = (error: unknown): never => {
    if (error instanceof WrongSecret) throw wrongSecret(error)
    if (!(error instanceof KeyRefused)) throw error
    throw new CliError(refusalSentence(error), whereNamesAre)
  }
  const now = () => systemClock.now()
  const by = { actor: actorHere() }
  const here = placeOf(dirname(ledger.folder.secret))
  const watch = async () => {
    const { LedgerWatch } = await import('#ledger/ledger-watch.ts')
    return new LedgerWatch({ store, clock: systemClock, log: silentLog })
  }
  return {
    createKey: (order: KeyOrder) => createKey({ keys, now }, { ...order, by }).catch(inWords),
    setBudget: (id, budget) => keys.setBudget(id, budget, { by }).catch(inWords),
    listKeys: async account => (await keys.list(account).catch(inWords)).map(listedKey),
    revokeKey: id => keys.revoke(id, by).catch(inWords),
    async operate(operation, input) {
      const [{ callOperator }, ledger] = await Promise.all([import('#operator/queries/call-operator.ts'), watch()])
      return callOperator({ store, clock: systemClock, ledger }, operation, input, by.actor).catch(error => {
        if (!(error instanceof Error) || error.name !== 'OperatorRefused') throw error
        throw new CliError(error.message, whereToLook(operation))
      })
    },
    async reopenLedger() {
      const { state, reason } = await (await watch()).reopen(by.actor)
      if (state === 'read_only')
        throw new CliError(`The ledger stays read-only: ${lowered(reason)}`, 'Run `farebox ledger audit` for details.')
    },
    needs: () => keys.needs(),
    requireSecret: () => keys.requireSecret().catch(inWords),
    noteSecret: (secrets, act) =>
      noteSecret(store, marksOf(secrets), here, now(), act && { ...by, act }).catch(inWords),
    replaceSecret: secrets => replaceSecret(store, marksOf(secrets)[0], here, now(), { ...by, act: 'secret.replace' }),
    async noteDrop(secrets) {
      const [, ...former] = marksOf(secrets)
      const act = noteAct({ ...by, act: 'secret.drop', before: { former } }, now())
      const outcome = await commitSurely(store, { id: `${uuidV7(now())}/drop`, ops: [act] })
      if (!outcome.ok) throw new Error(`The store rejected an entry of the audit log: ${outcome.why}.`)
    },
    close: () => store.close(),
  }
}

/** Who uses this terminal, for the audit log. */
const actorHere = (): string => `${userName()} at a terminal`

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

/** Returns null if none of the flags is given. Throws what is wrong with them. */
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
  if (limit === null || limit < 0n) throw wrongValue(command, flag, text, 'an amount such as 5 or 0.25, or 0')
  return limit
}

/** The budget in the form of the admin API. */
function sentBudget({ period, usd, staking }: KeyBudget) {
  const text = (limit: MicroUsd | null) => (limit === null ? null : formatUsd(limit))
  return { period, usd: text(usd), staking: text(staking) }
}

/** Lets the ledger accept debits again after an audit without findings. Returns the exit code. */
export async function reopenLedger(ledger: LedgerPlace, isJson: boolean, io: CommandIo): Promise<number> {
  const reader = await openReader(ledger)
  try {
    const { audit } = await import('#ledger/audit/audit.ts')
    const report = await withSameSchema(audit(reader))
    if (!report.ok) {
      if (isJson) io.output.print(asJson({ reopened: false, audit: report }))
      else for (const line of await auditLines(report, io.output)) io.output.print(line)
      if (!isJson) io.output.print('The ledger was not changed. It can be reopened when an audit finds no problem.')
      return 1
    }
  } finally {
    await reader.close()
  }
  const operator = await openOperator(ledger)
  try {
    await operator.reopenLedger()
    if (isJson) io.output.print(asJson({ reopened: true }))
    else io.output.print('The ledger adds up and is open.')
    return 0
  } finally {
    await operator.close()
  }
}
