import { parseArguments, wrongUsage } from '../arguments.ts'
import { auditBooks, auditFile } from '../backup/audit-file.ts'
import { restoreSqlite } from '../backup/sqlite-backup.ts'
import { type Books, booksOf } from '../books.ts'
import type { Command, CommandIo } from '../command.ts'
import { defaultDataFolder } from '../data-folder.ts'

const name = 'farebox restore'

const usage = `Usage: farebox restore FILE [--data DIR]

Puts the books of a backup into a folder that has none, or into the empty PostgreSQL database that DATABASE_URL names, and
audits them. The secret comes with it where FILE.secret lies beside it. Then start the service.

  --data DIR  the new folder (${defaultDataFolder})`

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
    const books = await booksOf(values.data, io.env)
    if (books.database.engine === 'sqlite') return restoreInto(books, books.database.path, file, io)
    const tools = await import('../backup/postgres-tools.ts')
    await tools.restorePostgres(books.database.url, file, io.env)
    io.output.print('The books are restored into the database.')
    const audited = await auditBooks(books)
    io.output.note(audited.sentence)
    return audited.ok ? 0 : 1
  },
}

async function restoreInto({ folder, env }: Books, database: string, file: string, io: CommandIo): Promise<number> {
  const { hasSecret } = await restoreSqlite(folder, database, file)
  io.output.print(`The books are restored into ${folder.root}.`)
  if (!hasSecret && !env.FAREBOX_SECRET) {
    io.output.note(
      `No secret came with them: put the former service's into ${folder.secret} before the first start, or make new keys.`,
    )
  }
  const audited = await auditFile(database)
  io.output.note(audited.sentence)
  return audited.ok ? 0 : 1
}
