import { auditFile, auditLedger } from '../backup/audit-file.ts'
import { secretFileOf } from '../backup/backup-secret.ts'
import { backUpSqlite } from '../backup/sqlite-backup.ts'
import { type Command, type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { defaultDataFolder } from '../data/data-folder.ts'
import { type LedgerPlace, ledgerPlaceOf } from '../data/ledger-place.ts'

const name = 'farebox backup'

const usage = `Usage: farebox backup FILE [--with-secret] [--data DIR]

Backs up the ledger of a service into a new file, also while the service runs: accounts, hashes of keys, entries, holds,
payments and jobs, as one consistent snapshot. The copy is checked and audited. It holds no finished video, no wallet, no
private key and no API key. Restore it with \`farebox restore\`.

  --with-secret  also write the service's secret to FILE.secret; without this secret, existing keys
                 and download links stop working after a restore
  --data DIR     the service's folder (${defaultDataFolder}); where DATABASE_URL names a PostgreSQL database, that one`

export const backup: Command = {
  usage,
  async run(args, io) {
    const { values, positionals } = parseArguments(args, {
      command: name,
      options: {
        'with-secret': { type: 'boolean', default: false },
        data: { type: 'string', default: defaultDataFolder },
      },
      maxPositionals: 1,
    })
    const [file] = positionals
    if (file === undefined) throw wrongUsage(name, 'The name of the new file is missing')
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
  if (withSecret) io.output.note(`The service's secret is in ${secretFileOf(file)}; keep it apart from the backup.`)
  else io.output.note("The service's secret is not in it: without it no API key of then opens anything again.")
  // What `pg_dump` writes can be added up only in a database; that from which it came is.
  const audited = ledger.database.engine === 'postgres' ? await auditLedger(ledger) : await auditFile(file)
  io.output.note(audited.sentence)
  return audited.ok ? 0 : 1
}
