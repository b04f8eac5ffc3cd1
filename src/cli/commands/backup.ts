import { resolve } from 'node:path'
import { missingSecret, restoreSecret, secretFileOf } from '../backup/backup-secret.ts'
import { backUpSqlite, restoreSqlite } from '../backup/sqlite-backup.ts'
import { type Command, type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { defaultDataFolder } from '../data/data-folder.ts'
import { readFolderSecrets } from '../data/folder-secrets.ts'
import { auditFile, auditLedger, type LedgerPlace, ledgerPlaceOf, noteLedgerPlace } from '../data/ledger-place.ts'

const backupUsage = `Usage: farebox backup FILE [--with-secret] [--data DIR]

Backs up the ledger of a service into a new file, also while the service runs: accounts, hashes of keys, entries, holds,
payments and jobs, as one consistent snapshot. The copy is checked and audited. It holds no finished video, no wallet, no
private key and no API key. Restore it with \`farebox restore\`.

  --with-secret  also write the service's secret to FILE.secret; without this secret, existing keys
                 and download links stop working after a restore
  --data DIR     the service's folder (${defaultDataFolder}); with DATABASE_URL, backs up that PostgreSQL database`

export const backup: Command = {
  usage: backupUsage,
  async run(args, io) {
    const { values, positionals } = parseArguments(args, {
      command: 'farebox backup',
      options: {
        'with-secret': { type: 'boolean', default: false },
        data: { type: 'string', default: defaultDataFolder },
      },
      maxPositionals: 1,
    })
    const [file] = positionals
    if (file === undefined) throw wrongUsage('farebox backup', 'The name of the new file is missing')
    const ledger = await ledgerPlaceOf(values.data, io.env)
    const withSecret = values['with-secret']
    const { database } = ledger
    if (database.engine === 'sqlite') await backUpSqlite(ledger, database.path, file, withSecret)
    else await (await import('../backup/postgres-tools.ts')).backUpPostgres(ledger, database.url, file, withSecret)
    return tell(ledger, file, withSecret, io)
  },
}

async function tell(ledger: LedgerPlace, file: string, withSecret: boolean, io: CommandIo): Promise<number> {
  io.output.print(file)
  if (withSecret)
    io.output.note(`The service's secret is in ${secretFileOf(file)}; keep it in a different place than the backup.`)
  else
    io.output.note(
      "The backup does not contain the service's secret. Without that secret, existing API keys stop working after a restore.",
    )
  // What `pg_dump` writes can be added up only in a database; that from which it came is.
  const audited = ledger.database.engine === 'postgres' ? await auditLedger(ledger) : await auditFile(file)
  io.output.note(audited.sentence)
  return audited.ok ? 0 : 1
}

const restoreUsage = `Usage: farebox restore FILE [--data DIR]

Restores the ledger of a backup into a folder without one, or into the empty PostgreSQL database that DATABASE_URL names,
and audits it. If FILE.secret is beside FILE, the secret is restored too. Then start the service.

  --data DIR  the new folder (${defaultDataFolder}); with a database, the folder for the secret`

export const restore: Command = {
  usage: restoreUsage,
  async run(args, io) {
    const { values, positionals } = parseArguments(args, {
      command: 'farebox restore',
      options: { data: { type: 'string', default: defaultDataFolder } },
      maxPositionals: 1,
    })
    const [file] = positionals
    if (file === undefined) throw wrongUsage('farebox restore', 'The name of the backup is missing')
    const ledger = await ledgerPlaceOf(values.data, io.env)
    const { database, folder } = ledger
    if (database.engine === 'sqlite') {
      await restoreSqlite(folder, database.path, file)
      io.output.print(`The ledger was restored into ${folder.root}.`)
    } else {
      await restoreDatabase(ledger, database.url, file)
      io.output.print('The ledger was restored into the database.')
    }
    const missing = await missingSecret(ledger)
    if (missing) io.output.note(missing)
    const audited = await (database.engine === 'sqlite' ? auditFile(database.path) : auditLedger(ledger))
    io.output.note(audited.sentence)
    return audited.ok ? 0 : 1
  },
}

/** The secret lies in the folder wherever the ledger is. */
async function restoreDatabase({ folder, env }: LedgerPlace, url: string, file: string): Promise<void> {
  const { restorePostgres } = await import('../backup/postgres-tools.ts')
  await restorePostgres(url, file, env)
  await restoreSecret(folder, resolve(file))
  // A folder that got nothing is none of this service.
  if ((await readFolderSecrets(folder)) !== null) await noteLedgerPlace(folder, { engine: 'postgres', url })
}
