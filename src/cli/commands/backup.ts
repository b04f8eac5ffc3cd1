import { resolve } from 'node:path'
import { missingSecret, restoreSecret, secretFileOf } from '../backup/backup-secret.ts'
import { backUpSqlite, restoreSqlite } from '../backup/sqlite-backup.ts'
import { type Command, type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { defaultDataFolder } from '../data/data-folder.ts'
import { readFolderSecrets } from '../data/folder-secrets.ts'
import { auditFile, auditLedger, type LedgerPlace, ledgerPlaceOf, noteLedgerPlace } from '../data/ledger-place.ts'
import { servicePlaceOf } from '../data/service-place.ts'
import { openProgress, type Progress } from '../show/progress.ts'

const backupUsage = `Usage: farebox backup FILE [--with-secret] [--data DIR] [--json]

Backs up a service's ledger to a new file, as one consistent snapshot: accounts, key hashes, entries, holds, payments
and jobs. The service can keep running. The copy is checked and audited. It contains no finished videos, wallets,
private keys or API keys. Restore it with \`farebox restore\`.

  --with-secret  also write the service's secret to FILE.secret; without this secret, existing keys
                 and download links stop working after a restore
  --data DIR     the service's folder (the one in ./farebox.yaml, or .farebox); with DATABASE_URL, the backup is of that
                 PostgreSQL database
  --json         print the paths of the backup and of the secret's copy, and the result of the audit, as one line of
                 JSON`

export const backup: Command = {
  usage: backupUsage,
  async run(args, io) {
    const { values, positionals } = parseArguments(args, {
      command: 'farebox backup',
      options: {
        'with-secret': { type: 'boolean', default: false },
        data: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
      maxPositionals: 1,
    })
    const [file] = positionals
    if (file === undefined)
      throw wrongUsage('farebox backup', 'FILE is missing; for example, `farebox backup ledger.db`')
    const ledger = await servicePlaceOf(values.data, io.env)
    const withSecret = values['with-secret']
    const { database } = ledger
    const copy = async (progress: Progress) => {
      if (database.engine === 'sqlite') return backUpSqlite(ledger, database.path, file, withSecret, progress)
      const { backUpPostgres } = await import('../backup/postgres-tools.ts')
      progress.show({ message: 'Copying the ledger with pg_dump' })
      return backUpPostgres(ledger, database.url, file, withSecret)
    }
    await withProgress('Backing up the ledger', { isJson: values.json, io }, copy)
    return reportBackup(ledger, file, { withSecret, isJson: values.json }, io)
  },
}

/** Progress is shown only on a terminal; a pipe receives just the result. */
async function withProgress(
  what: string,
  { isJson, io }: { isJson: boolean; io: CommandIo },
  run: (progress: Progress) => Promise<void>,
): Promise<void> {
  const { drawing } = io.output
  const progress = await openProgress({ drawing: isJson ? null : drawing, note: () => undefined }, what)
  await run(progress).finally(() => progress.end())
}

interface Backup {
  withSecret: boolean
  isJson: boolean
}

async function reportBackup(
  ledger: LedgerPlace,
  file: string,
  { withSecret, isJson }: Backup,
  io: CommandIo,
): Promise<number> {
  // A dump can only be audited after it is restored, so the database that it comes from is audited instead.
  const audited = ledger.database.engine === 'postgres' ? await auditLedger(ledger) : await auditFile(file)
  if (isJson) {
    const secretFile = withSecret ? secretFileOf(file) : null
    io.output.printJson({ file, secretFile, ok: audited.ok, audit: audited.sentence })
    return audited.ok ? 0 : 1
  }
  io.output.print(file)
  if (withSecret)
    io.output.note(`The service's secret is in ${secretFileOf(file)}; keep it in a different place than the backup.`)
  else
    io.output.note(
      "The backup does not contain the service's secret. Without that secret, existing API keys stop working after a restore: keep a copy of it too, or add `--with-secret`.",
    )
  io.output.note(audited.sentence)
  return audited.ok ? 0 : 1
}

const restoreUsage = `Usage: farebox restore FILE [--data DIR] [--json]

Restores a ledger from a backup into a folder without one, or into the empty PostgreSQL database that DATABASE_URL
names, and audits it. If FILE.secret is beside FILE, the secret is restored too. Then start the service.

  --data DIR  the new folder (${defaultDataFolder}); with a database, the folder for the secret
  --json      print where the ledger is now, and the result of the audit, as one line of JSON`

export const restore: Command = {
  usage: restoreUsage,
  async run(args, io) {
    const { values, positionals } = parseArguments(args, {
      command: 'farebox restore',
      options: {
        data: { type: 'string', default: defaultDataFolder },
        json: { type: 'boolean', default: false },
      },
      maxPositionals: 1,
    })
    const [file] = positionals
    if (file === undefined)
      throw wrongUsage('farebox restore', 'The FILE to restore is missing; `farebox backup` writes one')
    const ledger = await ledgerPlaceOf(values.data, io.env)
    const { database, folder } = ledger
    const restoreLedger = async (progress: Progress) => {
      if (database.engine === 'sqlite') return restoreSqlite(folder, database.path, file, progress)
      progress.show({ message: 'Restoring the ledger with pg_restore' })
      return restoreDatabase(ledger, database.url, file)
    }
    await withProgress('Restoring the ledger', { isJson: values.json, io }, restoreLedger)
    const into = database.engine === 'sqlite' ? folder.root : 'the database'
    if (!values.json) io.output.print(`The ledger was restored into ${into}.`)
    const missing = await missingSecret(ledger)
    if (missing) io.output.note(missing)
    const audited = await (database.engine === 'sqlite' ? auditFile(database.path) : auditLedger(ledger))
    if (values.json) io.output.printJson({ restored: into, ok: audited.ok, audit: audited.sentence })
    else io.output.note(audited.sentence)
    return audited.ok ? 0 : 1
  },
}

/** The secret is in the folder wherever the ledger is. */
async function restoreDatabase({ folder, env }: LedgerPlace, url: string, file: string): Promise<void> {
  const { restorePostgres } = await import('../backup/postgres-tools.ts')
  await restorePostgres(url, file, env)
  await restoreSecret(folder, resolve(file))
  // If nothing was written to the folder, it does not belong to this service.
  if ((await readFolderSecrets(folder)) !== null) await noteLedgerPlace(folder, { engine: 'postgres', url })
}
