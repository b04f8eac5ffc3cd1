import { parseArguments, wrongUsage } from '../arguments.ts'
import { auditFile } from '../backup/audit-file.ts'
import { restoreFolder } from '../backup/sqlite-backup.ts'
import { booksOf } from '../books.ts'
import type { Command, CommandIo } from '../command.ts'
import { type DataFolder, defaultDataFolder } from '../data-folder.ts'

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
    const books = booksOf(values.data, io.env)
    if (books.kind === 'folder') return restoreIntoFolder(books.folder, file, io)
    const tools = await import('../backup/postgres-tools.ts')
    await tools.restorePostgres(books.url, file, io.env)
    io.output.print('The books are restored. `farebox ledger audit` adds them up.')
    return 0
  },
}

async function restoreIntoFolder(folder: DataFolder, file: string, io: CommandIo): Promise<number> {
  const { hasSecret } = await restoreFolder(folder, file)
  io.output.print(`The books are restored into ${folder.root}.`)
  if (!hasSecret) {
    io.output.note(
      `No secret came with them: put the former service's into ${folder.secret} before the first start, or make new keys.`,
    )
  }
  const audited = await auditFile(folder.database)
  io.output.note(audited.sentence)
  return audited.ok ? 0 : 1
}
