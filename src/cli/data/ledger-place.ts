import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AuditReader } from '#ledger/audit/audit-reader.ts'
import type { DatabasePlace } from '#ledger/store/open-store.ts'
import type { FoldingStore } from '#ledger/store/store.ts'
import { CliError } from '../command.ts'
import { counted } from '../show/counted.ts'
import { configPath, type DataFolder, dataFolder, readFileIfThere, writePrivateFile } from './data-folder.ts'
import { environmentSecrets, readFolderSecrets, type Secrets } from './folder-secrets.ts'
import { isStoreError } from './service-admin.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A service's ledger, and the folder that belongs to it. */
export interface LedgerPlace {
  folder: DataFolder
  database: DatabasePlace
  env: Environment
  /** Those of the configuration, if it names any. Throws if a variable of them is not set. */
  configured?: () => Promise<Secrets>
}

/**
 * Uses DATABASE_URL, or the folder if it does not record that its ledger is elsewhere. The address comes only from the
 * environment, because it may contain a password.
 */
export async function ledgerPlaceOf(data: string, env: Environment): Promise<LedgerPlace> {
  const { databasePlace } = await import('#ledger/store/open-store.ts')
  const folder = dataFolder(data)
  if (!env.DATABASE_URL) await requireLedgerHere(folder)
  try {
    const path = `sqlite:${folder.database}`
    return { folder, database: databasePlace(env.DATABASE_URL || path), env }
  } catch (error) {
    throw new CliError(error instanceof Error ? error.message : String(error), 'Fix DATABASE_URL, or unset it.')
  }
}

const noService = ({ folder, env }: LedgerPlace): CliError =>
  new CliError(
    `There is no service in ${folder.root}.`,
    `Start one with \`${starting(env)}\`, or give its folder with \`--data\`.`,
  )

/** A folder with a configuration belongs to `farebox serve`; `up` would start a demonstration in it. */
const starting = (env: Environment): string => (existsSync(configPath(undefined, env)) ? 'farebox serve' : 'farebox up')

/** Throws if the folder has no service. Whether it belongs to another machine's service shows when it is opened. */
export async function requireLedger(ledger: LedgerPlace): Promise<void> {
  if (ledger.database.engine === 'postgres') return
  const hasSecret = (await readFileIfThere(ledger.folder.secret)) !== null
  if (!hasSecret && !existsSync(ledger.database.path)) throw noService(ledger)
}

/** A service with its ledger in PostgreSQL leaves a folder with its secret and no database. */
const ledgerElsewhere = ({ folder: { root }, env }: LedgerPlace): CliError =>
  new CliError(
    `There is no service ledger in ${root}.`,
    `If its ledger is in PostgreSQL, set the same DATABASE_URL as the service; otherwise start the service once with \`${starting(env)}\`.`,
  )

/**
 * The secrets with which the service hashes and signs: from the configuration if it names them, then from the
 * environment if set, otherwise the folder's.
 */
export async function requireSecrets(ledger: LedgerPlace): Promise<Secrets> {
  if (ledger.configured) return ledger.configured()
  if (ledger.env.FAREBOX_SECRET) return environmentSecrets(ledger.env)
  const secrets = await readFolderSecrets(ledger.folder)
  if (secrets) return secrets
  if (ledger.database.engine === 'postgres') {
    throw new CliError(
      'The service’s secret is missing.',
      'Set the same FAREBOX_SECRET as the service, give its folder with `--data`, or set FAREBOX_CONFIG to its farebox.yaml.',
    )
  }
  throw existsSync(ledger.database.path) ? secretMissing(ledger.folder) : noService(ledger)
}

/** For example, a ledger that was restored without it. */
const secretMissing = ({ root, secret }: DataFolder): CliError =>
  new CliError(
    `The secret of the ledger in ${root} is missing.`,
    `Put the former service’s secret into ${secret} or FAREBOX_SECRET. If its farebox.yaml has \`secrets\`, set FAREBOX_CONFIG to that file. Only if it is lost, run \`farebox keys rotate-secret --break-keys\`.`,
  )

/** Reads a snapshot of the ledger, while a service writes. The caller closes it. */
export async function openReader(ledger: LedgerPlace): Promise<AuditReader> {
  await requireLedger(ledger)
  const { sqliteAuditReader, postgresAuditReader } = await import('#ledger/audit/audit-reader.ts')
  const { database } = ledger
  if (database.engine === 'sqlite') {
    if (!existsSync(database.path)) throw ledgerElsewhere(ledger)
    return sqliteAuditReader(database.path)
  }
  const reader = await postgresAuditReader(database.url).catch(async error => {
    throw await notOpened(error, database.url)
  })
  if (await hasLedger(reader)) return reader
  const mayCreate = await mayCreateSchema(reader)
  await reader.close()
  throw new NoLedgerYet(mayCreate)
}

/** A database in which no service was started yet. */
export class NoLedgerYet extends CliError {
  /** Whether the role may create the ledger's schema in it. */
  readonly mayCreate: boolean

  constructor(mayCreate: boolean) {
    super(
      'The PostgreSQL database has no service ledger.',
      'Start the service with this database once, or check DATABASE_URL.',
    )
    this.mayCreate = mayCreate
  }
}

async function mayCreateSchema(reader: AuditReader): Promise<boolean> {
  const asked = "SELECT 1 AS may WHERE has_database_privilege(current_database(), 'CREATE')"
  for await (const _ of reader.rows(asked)) return true
  return false
}

/** A ledger of any release has accounts. */
async function hasLedger(reader: AuditReader): Promise<boolean> {
  const there = "SELECT 1 AS there WHERE to_regclass('account') IS NOT NULL"
  for await (const _ of reader.rows(there)) return true
  return false
}

async function notOpened(error: unknown, url: string): Promise<CliError> {
  const { openingFailure } = await import('#ledger/store/postgres/opening-failure.ts')
  const { code } = error as NodeJS.ErrnoException
  const { fact, nextStep } = openingFailure(error, url) ?? {
    fact: `The PostgreSQL database cannot be opened${code ? ` (${code})` : ''}.`,
    nextStep: 'See its log, or check DATABASE_URL.',
  }
  return new CliError(fact, nextStep)
}

/** Opens the ledger for writing; one in a folder belongs to this process alone. Throws the store's own errors. */
export async function openLedger({ database }: LedgerPlace): Promise<FoldingStore> {
  const { openStore } = await import('#ledger/store/open-store.ts')
  const name = database.engine === 'sqlite' ? `sqlite:${database.path}` : database.url
  return openStore(name).catch(error => {
    // Another process may be about to leave the folder, so that error is for the caller.
    if (!isStoreError(error) || !error.failure || error.kind === 'folder_in_use') throw error
    throw new CliError(error.failure.fact, error.failure.nextStep)
  })
}

/** PostgreSQL's codes for a missing table, column, schema and function; its messages may be in any language. */
const missingCodes: unknown[] = ['42P01', '42703', '3F000', '42883']

/** Whether a statement failed because the tables are from another release. */
export const isOtherSchema = (error: unknown): boolean =>
  error instanceof Error &&
  ('errcode' in error
    ? /no such (table|column)/.test(error.message)
    : 'code' in error && missingCodes.includes(error.code))

/** Returns the result of `read`; explains the failure if the tables are from another release. */
export const withSameSchema = <Value>(read: Promise<Value>): Promise<Value> =>
  read.catch(error => {
    if (!isOtherSchema(error)) throw error
    throw new CliError(
      'The tables belong to another release.',
      'Start the service of this release once, or use the command of that release.',
    )
  })

/** The file in a folder that names the PostgreSQL database of its ledger, but never a user or password. */
const markOf = (folder: DataFolder): string => join(dirname(folder.database), 'ledger-in-postgresql')

/** Records in a folder that its ledger is elsewhere, so that no empty one is started if DATABASE_URL is forgotten. */
export async function noteLedgerPlace(folder: DataFolder, database: DatabasePlace): Promise<void> {
  if (database.engine !== 'postgres') return
  const { host, pathname } = new URL(database.url)
  const place = `${host}${pathname}\n`
  if ((await readFileIfThere(markOf(folder))) !== place) await writePrivateFile(markOf(folder), place)
}

/** Throws if DATABASE_URL is not set but the folder's ledger is in PostgreSQL. */
async function requireLedgerHere(folder: DataFolder): Promise<void> {
  const place = await readFileIfThere(markOf(folder))
  if (place === null) return
  throw new CliError(
    `The ledger of the service in ${folder.root} is in PostgreSQL (${place.trim()}), and DATABASE_URL is not set.`,
    `Set the same DATABASE_URL as the service, or choose another folder with \`--data\`. Remove ${markOf(folder)} only if you give up that ledger.`,
  )
}

/** Throws if a start on PostgreSQL would abandon a ledger in the folder. */
export async function requireNoLedgerHere(folder: DataFolder): Promise<void> {
  if ((await readFileIfThere(markOf(folder))) !== null || !(await hasAccounts(folder.database))) return
  throw new CliError(
    `The ledger of the service in ${folder.root} is in that folder, and DATABASE_URL names another database.`,
    'Unset DATABASE_URL to keep using it, or choose another folder with `--data` for the ledger in PostgreSQL.',
  )
}

/** A ledger without accounts has no money. A ledger that cannot be read may have some. */
async function hasAccounts(path: string): Promise<boolean> {
  if (!existsSync(path)) return false
  const { sqliteAuditReader } = await import('#ledger/audit/audit-reader.ts')
  try {
    const reader = sqliteAuditReader(path)
    try {
      for await (const _ of reader.rows('SELECT id FROM account LIMIT 1')) return true
      return false
    } finally {
      await reader.close()
    }
  } catch {
    return true
  }
}

interface Audited {
  ok: boolean
  sentence: string
}

/** Audits the ledger in a file to which nothing is written. */
export const auditFile = (file: string): Promise<Audited> => auditIn(file, 'in the file')

export async function auditLedger(ledger: LedgerPlace): Promise<Audited> {
  const reader = await openReader(ledger)
  try {
    return await auditIn(reader, 'in the database')
  } finally {
    await reader.close()
  }
}

/** A ledger of another release is left to that release. */
async function auditIn(ledger: string | AuditReader, where: string): Promise<Audited> {
  const { audit } = await import('#ledger/audit/audit.ts')
  try {
    // If no process is there to free a dead process's hold, the next start does.
    const { ok, counts } = await audit(ledger, { expiredHoldMs: Number.MAX_SAFE_INTEGER })
    const rows = `${counted(counts.entries, 'row')} of ${counted(counts.accounts, 'account')}`
    return ok
      ? { ok, sentence: `The ledger ${where} adds up: ${rows}.` }
      : { ok, sentence: `The ledger ${where} does not add up (${rows}). Run \`farebox ledger audit\` for details.` }
  } catch (error) {
    if (!isOtherSchema(error)) throw error
    return { ok: true, sentence: 'The ledger belongs to another release, so it was not audited.' }
  }
}
