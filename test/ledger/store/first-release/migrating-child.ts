/** Migrates the database of its argument, and stops for good before the last statements, for the test to kill it there. */
import { openForWriting } from '#ledger/store/sqlite/connection.ts'
import { migrateSqlite } from '#ledger/store/sqlite/open.ts'
import { nextRelease } from './next-release.ts'

const path = process.argv[2] ?? ''
const database = openForWriting(path)
const prepare = database.prepare.bind(database)
database.prepare = (...words) => {
  if (words[0].includes('CREATE INDEX limit_log_by_account')) {
    process.stdout.write('half done\n')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }
  return prepare(...words)
}
await migrateSqlite(database, path, nextRelease)
