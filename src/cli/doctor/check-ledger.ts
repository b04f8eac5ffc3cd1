import { existsSync } from 'node:fs'
import { asClause } from '#contract/errors/as-clause.ts'
import type { AuditReader } from '#ledger/audit/audit-reader.ts'
import { CliError } from '../command.ts'
import {
  auditLedger,
  type LedgerPlace,
  ledgerPlaceOf,
  NoLedgerYet,
  openReader,
  requireNoLedgerHere,
} from '../data/ledger-place.ts'
import { broken, type Finding, note, ok } from './finding.ts'

const check = 'ledger'

/** Checks whether the ledger opens, is from this release, and adds up. */
export async function checkLedger(data: string, env: Readonly<Record<string, string | undefined>>): Promise<Finding[]> {
  try {
    const ledger = await ledgerPlaceOf(data, env)
    const { database } = ledger
    if (database.engine === 'postgres') await requireNoLedgerHere(ledger.folder)
    if (database.engine === 'sqlite' && !existsSync(database.path))
      return [ok(check, `${ledger.folder.root} has no ledger yet; the first start creates one.`)]
    const { ok: addUp, sentence } = await auditLedger(ledger)
    return [
      addUp
        ? ok(check, sentence)
        : broken(check, sentence, 'See "When the ledger is read-only" in docs/operations/monitor.md.'),
      ...(await releaseOf(ledger)),
    ]
  } catch (error) {
    if (error instanceof NoLedgerYet) return [noLedger(error)]
    if (error instanceof CliError) return [broken(check, error.message, error.nextStep)]
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1)
    return [
      broken(
        check,
        `It cannot be read: ${asClause(reason)}.`,
        'Restore it from a backup, or choose another folder with `--data`.',
      ),
    ]
  }
}

const noLedger = ({ mayCreate }: NoLedgerYet): Finding =>
  mayCreate
    ? ok(check, 'The PostgreSQL database has no ledger yet; the first start creates one.')
    : broken(
        check,
        'The PostgreSQL database has no ledger yet, and its role may not create one.',
        'Run `GRANT CREATE ON DATABASE … TO …` as the owner of the database.',
      )

async function releaseOf(ledger: LedgerPlace): Promise<Finding[]> {
  const { migrations } = await (ledger.database.engine === 'sqlite'
    ? import('#ledger/store/sqlite/schema/tables.ts')
    : import('#ledger/store/postgres/migrate.ts'))
  const reader = await openReader(ledger)
  try {
    const made = await migrationsIn(reader)
    const waiting = Object.keys(migrations).filter(name => !made.includes(name))
    const others = made.filter(name => !Object.hasOwn(migrations, name))
    if (others.length)
      return [
        broken(
          'tables',
          'They were written by another release of farebox.',
          'Use that release, or restore a backup of this one.',
        ),
      ]
    if (waiting.length)
      return [note('tables', `${waiting.length} migrations will run at the next start.`, 'Back the ledger up first.')]
    return [ok('tables', 'They are up to date.')]
  } finally {
    await reader.close()
  }
}

async function migrationsIn(reader: AuditReader): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of reader.rows<{ name: string }>('SELECT name FROM kysely_migration')) names.push(name)
  return names
}
