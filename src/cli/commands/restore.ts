import { resolve } from 'node:path'
import { auditFile, auditLedger } from '../backup/audit-file.ts'
import { missingSecret, restoreSecret } from '../backup/backup-secret.ts'
import { restoreSqlite } from '../backup/sqlite-backup.ts'
import { type Command, parseArguments, wrongUsage } from '../command.ts'
import { defaultDataFolder } from '../data/data-folder.ts'
import { readFolderSecrets } from '../data/folder-secrets.ts'
import { type LedgerPlace, ledgerPlaceOf, noteLedgerPlace } from '../data/ledger-place.ts'

const name = 'farebox restore'

const usage = `Usage: farebox restore FILE [--data DIR]

Restores the ledger of a backup into a folder without one, or into the empty PostgreSQL database that DATABASE_URL names,
and audits it. If FILE.secret is beside FILE, the secret is restored too. Then start the service.

  --data DIR  the new folder (${defaultDataFolder}); with a database, the folder for the secret`

export const restore: Command = {
  usage,
  async run(args, io) {
    const { values, positionals } = parseArguments(args, {
      command: name,
      options: { data: { type: 'string', default: defaultDataFolder } },
      maxPositionals: 1,
    })
    const [file] = positionals
    if (file === undefined) throw wrongUsage(name, 'The name of the backup is missing')
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
